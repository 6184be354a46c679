#pragma once
// Rows of a packed key-value cache as f32 vectors, with the bits of dequantize_blocks(). Only for files compiled once
// per instruction set.
#include "engine/cpu/half.h"
#include "engine/cpu/simd_bf16.h"

namespace headroom::engine::HEADROOM_ISA {

/// read(j, d, x): N vectors of row j from number d on. Reading `together` vectors at once is best: rows are whole
/// multiples of them unless it is 1.
struct F16Rows {
  static constexpr int together = 1;
  const uint8_t* first;
  int64_t stride;
  F16Rows(const uint8_t* bytes, int64_t row_bytes) : first(bytes), stride(row_bytes) {}
  template <int N>
  void read(int64_t j, int64_t d, Vec (&x)[N]) const {
    for (int i = 0; i < N; ++i) x[i] = at(first + j * stride + 2 * (d + i * lanes));
  }
  static Vec at(const uint8_t* p) {
#if defined(__AVX512F__)
    return Vec(reinterpret_cast<RawF>(
        _mm512_maskz_cvtph_ps(static_cast<__mmask16>(-1), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))));
#elif defined(__AVX2__)
    return Vec(reinterpret_cast<RawF>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))));
#else
    Vec x;
    for (int i = 0; i < lanes; ++i) x.v[i] = half_at(p + 2 * i);
    return x;
#endif
  }
};

struct Bf16Rows {
  static constexpr int together = 1;
  const uint8_t* first;
  int64_t stride;
  Bf16Rows(const uint8_t* bytes, int64_t row_bytes) : first(bytes), stride(row_bytes) {}
  template <int N>
  void read(int64_t j, int64_t d, Vec (&x)[N]) const {
    for (int i = 0; i < N; ++i) {
      RawHalf half;
      std::memcpy(&half, first + j * stride + 2 * (d + i * lanes), sizeof(half));
      x[i] = widened(half);
    }
  }
};

/// Blocks of 32: a scale in f16, then Block's bytes of 32 integers. A read starts a block or ends within one.
template <class Block>
struct ScaledRows {
  static constexpr int numbers = 32, together = numbers / lanes;
  const uint8_t* first;
  int64_t stride;
  ScaledRows(const uint8_t* bytes, int64_t row_bytes) : first(bytes), stride(row_bytes) {}
  template <int N>
  void read(int64_t j, int64_t d, Vec (&x)[N]) const {
    const uint8_t* block = first + j * stride + d / numbers * Block::bytes;
    Vec scale(half_at(block));
    for (int i = 0; i < N; ++i) {
      if (i > 0 && i % together == 0) block += Block::bytes, scale = Vec(half_at(block));
      const RawI integers = Block::integers(block + 2, d % numbers + i % together * lanes);
      x[i] = scale * Vec(__builtin_convertvector(integers, RawF));
    }
  }
};

/// Integers of 8 bits. By hand: GCC 12 converts vectors of bytes one by one.
struct Q8Block {
  static constexpr int bytes = 34;
  /// The `lanes` integers from number `at` on.
  static RawI integers(const uint8_t* q, int64_t at) {
#if defined(__AVX512F__)
    return reinterpret_cast<RawI>(_mm512_maskz_cvtepi8_epi32(
        static_cast<__mmask16>(-1), _mm_loadu_si128(reinterpret_cast<const __m128i*>(q + at))));
#elif defined(__AVX2__)
    return reinterpret_cast<RawI>(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + at))));
#else
    RawI x;
    for (int i = 0; i < lanes; ++i) x[i] = static_cast<int8_t>(q[at + i]);
    return x;
#endif
  }
};
using Q8Rows = ScaledRows<Q8Block>;

/// 16 bytes: number i plus 8 in the low half of byte i, number i + 16 in its high half.
struct Q4Block {
  static constexpr int bytes = 18;
  static RawI integers(const uint8_t* q, int64_t at) {
    const uint8_t* const p = q + at % 16;
#if defined(__AVX512F__)
    const RawI pairs = reinterpret_cast<RawI>(
        _mm512_maskz_cvtepu8_epi32(static_cast<__mmask16>(-1), _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
    const RawI pairs =
        reinterpret_cast<RawI>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
    RawI pairs;
    for (int i = 0; i < lanes; ++i) pairs[i] = p[i];
#endif
    return ((pairs >> (at < 16 ? 0 : 4)) & 15) - 8;
  }
};
using Q4Rows = ScaledRows<Q4Block>;

}  // namespace headroom::engine::HEADROOM_ISA
