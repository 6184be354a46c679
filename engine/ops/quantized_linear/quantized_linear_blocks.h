#pragma once
// The format-specific parts of a product of blocks with 8-bit activations, by AVX2: eight blocks of 32 columns are
// taken together, one block of the formats with 256. A format gives, from the address w of the eight,
//
//   scales_of(w, count)   d and m of each of `count` blocks, the rest 0, so that x = d·q + m
//   values_of(w, i)       the 32 bytes q of block i, unsigned unless is_signed
//   group_bytes           from one eight to the next
//   step_of(steps, i)     what the eight sums of four products of block i are multiplied by
//
// Only for files that are compiled once per instruction set.
#include "engine/cpu/simd.h"
#include "engine/quantized/format.h"

#if defined(__AVX512VNNI__) || (defined(__AVX2__) && !defined(__AVX512F__))

namespace headroom::engine::HEADROOM_ISA {

/// Sums of four products each, of unsigned or signed q by signed a. No sum of two exceeds 16 bits: unsigned q are below
/// 64, and 2 · 128 · 127 < 2^15.
template <bool is_signed>
static inline __m256i dots_of(__m256i q, __m256i a) {
  const __m256i magnitude = is_signed ? _mm256_sign_epi8(q, q) : q, b = is_signed ? _mm256_sign_epi8(a, q) : a;
#ifdef __AVX512VNNI__
  return _mm256_dpbusd_epi32(_mm256_setzero_si256(), magnitude, b);
#else
  return _mm256_madd_epi16(_mm256_maddubs_epi16(magnitude, b), _mm256_set1_epi16(1));
#endif
}

/// Adds lanes in the order of simd.h's sum() of eight.
static inline float sum_of(__m256 x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/// The members above, for a format with integer products.
template <class F>
struct IntegerBlocks;

template <int n>
struct BlockScales {
  __m256 d[n];
  __m256 m;
};

static inline int half_bits(const uint8_t* p) {
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return bits;
}
static inline int word_at(const uint8_t* p) {
  int word;
  std::memcpy(&word, p, 4);
  return word;
}

/// Reads `count` (1 to 8) f16 numbers `stride` bytes apart; the rest are 0.
template <int stride>
static inline __m256 halves_of(const uint8_t* p, int count) {
  __m128i h = _mm_cvtsi32_si128(half_bits(p));
#define HEADROOM_PUT(I)                                    \
  case I + 1:                                              \
    h = _mm_insert_epi16(h, half_bits(p + I * stride), I); \
    [[fallthrough]]
  switch (count) {
    HEADROOM_PUT(7);
    HEADROOM_PUT(6);
    HEADROOM_PUT(5);
    HEADROOM_PUT(4);
    HEADROOM_PUT(3);
    HEADROOM_PUT(2);
    HEADROOM_PUT(1);
    default:
      return _mm256_cvtph_ps(h);
  }
#undef HEADROOM_PUT
}

/// The same of pairs of f16: d and m.
template <int stride>
static inline BlockScales<1> pairs_of(const uint8_t* p, int count) {
  __m128i low = _mm_cvtsi32_si128(word_at(p)), high = _mm_setzero_si128();
#define HEADROOM_PUT(HALF, I)                                      \
  case I + 1:                                                      \
    HALF = _mm_insert_epi32(HALF, word_at(p + I * stride), I % 4); \
    [[fallthrough]]
  switch (count) {
    HEADROOM_PUT(high, 7);
    HEADROOM_PUT(high, 6);
    HEADROOM_PUT(high, 5);
    HEADROOM_PUT(high, 4);
    HEADROOM_PUT(low, 3);
    HEADROOM_PUT(low, 2);
    HEADROOM_PUT(low, 1);
    default:
      break;
  }
#undef HEADROOM_PUT
  const __m128i first = _mm_set1_epi32(0xffff);
  return {{_mm256_cvtph_ps(_mm_packus_epi32(_mm_and_si128(low, first), _mm_and_si128(high, first)))},
          _mm256_cvtph_ps(_mm_packus_epi32(_mm_srli_epi32(low, 16), _mm_srli_epi32(high, 16)))};
}

template <bool has_fifth, bool has_m>
struct IntegerBlocks<blocks::Halves<has_fifth, has_m>> {
  static constexpr bool is_signed = false, has_minimum = true;
  static constexpr int scales = 1, bytes = blocks::Halves<has_fifth, has_m>::bytes, group_bytes = 8 * bytes;
  static BlockScales<1> scales_of(const uint8_t* w, int count) {
    if constexpr (has_m) return pairs_of<bytes>(w, count);
    const __m256 d = halves_of<bytes>(w, count);
    return {{d}, _mm256_mul_ps(d, _mm256_set1_ps(has_fifth ? -16.0f : -8.0f))};
  }
  static __m256i values_of(const uint8_t* w, int i) {
    const uint8_t* const block = w + i * bytes;
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + bytes - 16));
    const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(packed), _mm_srli_epi16(packed, 4), 1);
    const __m256i low = _mm256_and_si256(both, _mm256_set1_epi8(15));
    if constexpr (!has_fifth) return low;
    // Byte j of each eight keeps bit j of its byte of fifth bits.
    const __m256i spread =
        _mm256_shuffle_epi8(_mm256_set1_epi32(word_at(block + bytes - 20)),
                            _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const __m256i fifth = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
    return _mm256_or_si256(low, _mm256_and_si256(fifth, _mm256_set1_epi8(16)));
  }
  static __m256 step_of(const float* steps, int i) { return _mm256_broadcast_ss(steps + i); }
};

template <>
struct IntegerBlocks<blocks::Q8_0> {
  static constexpr bool is_signed = true, has_minimum = false;
  static constexpr int scales = 1, group_bytes = 8 * 34;
  static BlockScales<1> scales_of(const uint8_t* w, int count) {
    return {{halves_of<34>(w, count)}, _mm256_setzero_ps()};
  }
  static __m256i values_of(const uint8_t* w, int i) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + i * 34 + 2));
  }
  static __m256 step_of(const float* steps, int i) { return _mm256_broadcast_ss(steps + i); }
};

template <>
struct IntegerBlocks<blocks::Q4_K> {
  static constexpr bool is_signed = false, has_minimum = true;
  static constexpr int scales = 1, group_bytes = 144;
  static BlockScales<1> scales_of(const uint8_t* w, int) {
    const __m128 dm = _mm_cvtph_ps(_mm_cvtsi32_si128(word_at(w)));
    const auto a = static_cast<uint32_t>(word_at(w + 4)), b = static_cast<uint32_t>(word_at(w + 8)),
               c = static_cast<uint32_t>(word_at(w + 12));
    const auto eight = [](uint32_t low, uint32_t high) {
      return _mm256_cvtepi32_ps(
          _mm256_cvtepu8_epi32(_mm_set_epi32(0, 0, static_cast<int>(high), static_cast<int>(low))));
    };
    const __m256 s = eight(a & 0x3f3f3f3fu, (c & 0x0f0f0f0fu) | (a >> 6 & 0x03030303u) << 4);
    const __m256 n = eight(b & 0x3f3f3f3fu, (c >> 4 & 0x0f0f0f0fu) | (b >> 6 & 0x03030303u) << 4);
    const __m256 m = _mm256_broadcastss_ps(_mm_movehdup_ps(dm));
    return {{_mm256_mul_ps(_mm256_broadcastss_ps(dm), s)}, _mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(m, n))};
  }
  static __m256i values_of(const uint8_t* w, int i) {
    const __m256i packed = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 16 + i / 2 * 32));
    return _mm256_and_si256(i % 2 == 0 ? packed : _mm256_srli_epi16(packed, 4), _mm256_set1_epi8(15));
  }
  static __m256 step_of(const float* steps, int i) { return _mm256_broadcast_ss(steps + i); }
};

/// Scales as in Q4_K; bit k of the 32 bytes after them is block k's fifth bit.
template <>
struct IntegerBlocks<blocks::Q5_K> : IntegerBlocks<blocks::Q4_K> {
  static constexpr int group_bytes = 176;
  static __m256i values_of(const uint8_t* w, int i) {
    const __m256i low = IntegerBlocks<blocks::Q4_K>::values_of(w + 32, i);
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 16));
    const __m256i fifth = _mm256_and_si256(_mm256_srli_epi16(bits, i), _mm256_set1_epi8(1));
    return _mm256_or_si256(low, _mm256_slli_epi16(fifth, 4));
  }
};

/// Each 16 elements have a scale: d[0] has those of the blocks' first halves, d[1] those of the second.
template <>
struct IntegerBlocks<blocks::Q6_K> {
  static constexpr bool is_signed = true, has_minimum = false;
  static constexpr int scales = 2, group_bytes = 210;
  static BlockScales<2> scales_of(const uint8_t* w, int) {
    const __m128i s = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w + 192));
    const __m128i halves = _mm_shuffle_epi8(s, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    const __m256 d = _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(half_bits(w + 208))));
    const auto times_d = [&](__m128i eight) {
      return _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight)));
    };
    return {{times_d(halves), times_d(_mm_srli_si128(halves, 8))}, _mm256_setzero_ps()};
  }
  static __m256i values_of(const uint8_t* w, int i) {
    const int run = i / 4, j = i % 4;
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + run * 64 + j % 2 * 32));
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 128 + run * 32));
    const __m256i low = _mm256_and_si256(j < 2 ? halves : _mm256_srli_epi16(halves, 4), _mm256_set1_epi8(15));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bits, 2 * j), _mm256_set1_epi8(3));
    return _mm256_sub_epi8(_mm256_or_si256(low, _mm256_slli_epi16(high, 4)), _mm256_set1_epi8(32));
  }
  static __m256 step_of(const float* steps, int i) {
    return _mm256_set_m128(_mm_broadcast_ss(steps + 8 + i), _mm_broadcast_ss(steps + i));
  }
};

}  // namespace headroom::engine::HEADROOM_ISA

#endif
