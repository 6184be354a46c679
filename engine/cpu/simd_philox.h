#pragma once
// Philox4x32-10 (engine/rng.h) for kernel files only: the same words, many counters at a time.
#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

/// Blocks per call of philox_words.
inline constexpr int philox_blocks = 8;

#ifdef __AVX2__

namespace detail {
/// High and low halves of eight 32-bit products.
static inline void multiply(__m256i a, __m256i factor, __m256i& high, __m256i& low) {
  const __m256i even = _mm256_mul_epu32(a, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
  high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}
}  // namespace detail

/// The 4 · philox_blocks words of blocks index, index + 1, …
static inline void philox_words(uint64_t index, uint64_t seed, uint32_t stream, uint32_t* out) {
  uint32_t low_words[8], high_words[8];
  for (uint64_t i = 0; i < 8; ++i) {
    low_words[i] = static_cast<uint32_t>(index + i);
    high_words[i] = static_cast<uint32_t>((index + i) >> 32);
  }
  __m256i c0, c1, c2 = _mm256_setzero_si256(), c3 = _mm256_set1_epi32(static_cast<int32_t>(stream));
  std::memcpy(&c0, low_words, sizeof(c0));
  std::memcpy(&c1, high_words, sizeof(c1));
  const __m256i m0 = _mm256_set1_epi32(static_cast<int32_t>(0xD2511F53u));
  const __m256i m1 = _mm256_set1_epi32(static_cast<int32_t>(0xCD9E8D57u));
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    __m256i high0, low0, high1, low1;
    detail::multiply(c0, m0, high0, low0);
    detail::multiply(c2, m1, high1, low1);
    c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c1), _mm256_set1_epi32(static_cast<int32_t>(k0)));
    c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c3), _mm256_set1_epi32(static_cast<int32_t>(k1)));
    c1 = low1;
    c3 = low0;
  }
  // Reorders one vector per word into consecutive blocks: 4 × 4 transposes within the halves, then the halves in order.
  const __m256i a = _mm256_unpacklo_epi32(c0, c1), b = _mm256_unpacklo_epi32(c2, c3);
  const __m256i c = _mm256_unpackhi_epi32(c0, c1), d = _mm256_unpackhi_epi32(c2, c3);
  const __m256i blocks04 = _mm256_unpacklo_epi64(a, b), blocks15 = _mm256_unpackhi_epi64(a, b);
  const __m256i blocks26 = _mm256_unpacklo_epi64(c, d), blocks37 = _mm256_unpackhi_epi64(c, d);
  auto* to = reinterpret_cast<__m256i*>(out);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(blocks04, blocks15, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(blocks26, blocks37, 0x20));
  _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(blocks04, blocks15, 0x31));
  _mm256_storeu_si256(to + 3, _mm256_permute2x128_si256(blocks26, blocks37, 0x31));
}

#else

static inline void philox_words(uint64_t index, uint64_t seed, uint32_t stream, uint32_t* out) {
  for (uint64_t i = 0; i < philox_blocks; ++i, out += 4) {
    auto c0 = static_cast<uint32_t>(index + i), c1 = static_cast<uint32_t>((index + i) >> 32);
    uint32_t c2 = 0, c3 = stream;
    auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<uint32_t>(p1);
      c3 = static_cast<uint32_t>(p0);
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
  }
}

#endif

/// Random bits of elements [first, first + n) of a key: `out` has room for n + 4 · philox_blocks + 4 words and holds
/// them from out[result] on.
static inline int64_t random_words(uint64_t first, int64_t n, uint64_t seed, uint32_t stream, uint32_t* out) {
  const auto skipped = static_cast<int64_t>(first % 4);
  for (int64_t i = 0; i < n + skipped; i += 4 * philox_blocks)
    philox_words(first / 4 + static_cast<uint64_t>(i / 4), seed, stream, out + i);
  return skipped;
}

/// Sets all bits of lanes whose word is below `bound`, unsigned.
static inline Mask below(const uint32_t* words, uint32_t bound) {
  RawI x;
  std::memcpy(&x, words, sizeof(x));
  return {(x ^ INT32_MIN) < (RawI{} + static_cast<int32_t>(bound ^ 0x80000000u))};
}

}  // namespace headroom::engine::HEADROOM_ISA
