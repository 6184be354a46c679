// Compiled once per instruction set: products of a few rows in f32 by W, which is read once.
#include "engine/ops/quantized_linear/quantized_linear_kernel.h"

#include "engine/cpu/simd.h"
#include "engine/quantized/dequantize_kernel.h"

namespace headroom::engine::HEADROOM_ISA {

/// Columns that are unpacked at a time, whole blocks of every format: four rows of them stay in the first-level cache.
static constexpr int64_t unpacked = 1024;

/// Unpacks columns [from, from + n) of `rows` rows of W, `unpacked` numbers apart.
template <class X>
static inline void unpack(const FewRows<X>& p, int64_t first, int rows, int64_t from, int64_t n, float* w) {
  for (int r = 0; r < rows; ++r)
    dequantize_blocks(p.format, p.w + (first + r) * p.row_bytes + from / p.block_elements * p.block_bytes,
                      n / p.block_elements, w + r * unpacked);
}

/// Σ w·x of `rows` rows of W with one of x, n columns, added lane by lane to two sums a row.
template <int rows>
static inline void add_products(const float* w, const float* x, int64_t n, Vec (*sums)[2]) {
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes)
    for (int half = 0; half < 2; ++half) {
      const Vec xi = load(x + i + half * lanes);
      for (int r = 0; r < rows; ++r) sums[r][half] = fma(load(w + r * unpacked + i + half * lanes), xi, sums[r][half]);
    }
  for (int half = 0; i < n; i += lanes, half ^= 1) {
    const bool whole = n - i >= lanes;
    const Vec xi = whole ? load(x + i) : load_first(x + i, n - i);
    for (int r = 0; r < rows; ++r) {
      const float* const from = w + r * unpacked + i;
      sums[r][half] = fma(whole ? load(from) : load_first(from, n - i), xi, sums[r][half]);
    }
  }
}

/// Rows [first, first + rows) of W with all of x.
template <int rows>
static void f32_of(const FewRows<FloatRows>& p, int64_t first) {
  constexpr int most_x = 8;
  alignas(64) float w[rows * unpacked];
  for (int64_t x0 = 0; x0 < p.x_rows; x0 += most_x) {
    const int64_t x_rows = p.x_rows - x0 < most_x ? p.x_rows - x0 : most_x;
    Vec sums[most_x][rows][2];
    for (auto& of_x : sums)
      for (auto& of_row : of_x) of_row[0] = of_row[1] = Vec(0.0f);
    for (int64_t from = 0; from < p.cols; from += unpacked) {
      const int64_t n = p.cols - from < unpacked ? p.cols - from : unpacked;
      unpack(p, first, rows, from, n, w);
      for (int64_t x = 0; x < x_rows; ++x) add_products<rows>(w, p.x.values + (x0 + x) * p.x.stride + from, n, sums[x]);
    }
    for (int64_t x = 0; x < x_rows; ++x)
      for (int r = 0; r < rows; ++r) p.y[(x0 + x) * p.y_row + first + r] = sum(sums[x][r][0] + sums[x][r][1]);
  }
}

#ifdef __AVX2__

template <bool is_bf16>
static inline Vec load_halves(const uint8_t* p) {
#ifdef __AVX512F__
  // Masked forms, as in simd.h: GCC 12 takes the plain ones for reads of something uninitialised.
  constexpr auto all = static_cast<__mmask16>(-1);
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (is_bf16)
    return Vec(reinterpret_cast<RawF>(_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, h), 16)));
  else return Vec(reinterpret_cast<RawF>(_mm512_maskz_cvtph_ps(all, h)));
#else
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return is_bf16 ? Vec(reinterpret_cast<RawF>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)))
                 : Vec(reinterpret_cast<RawF>(_mm256_cvtph_ps(h)));
#endif
}

/// The same of numbers of 16 bits, which are widened on the way, one row after the other: a single stream is what the
/// processor reads fastest. Vector i is added to sum i % 4.
template <bool is_bf16>
static void halves_rows(const FewRows<FloatRows>& p) {
  constexpr int width = 2 * lanes;
  const int64_t whole = p.cols / lanes, left = p.cols % lanes;
  for (int64_t o = 0; o < p.w_rows; ++o)
    for (int64_t x = 0; x < p.x_rows; ++x) {
      const uint8_t* const w = p.w + o * p.row_bytes;
      const float* const from = p.x.values + x * p.x.stride;
      Vec sums[4] = {Vec(0.0f), Vec(0.0f), Vec(0.0f), Vec(0.0f)};
      const auto add = [&](int64_t i, Vec & sum) __attribute__((always_inline)) {
        sum = fma(load_halves<is_bf16>(w + i * width), load(from + i * lanes), sum);
      };
      int64_t i = 0;
      for (; i + 4 <= whole; i += 4) {
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add(i + s, sums[s]);
      }
      for (int s = 0; i < whole; ++i, ++s) add(i, sums[s]);
      if (left > 0) {
        uint8_t rest[width] = {};
        std::memcpy(rest, w + whole * width, static_cast<size_t>(left) * 2);
        sums[3] = fma(load_halves<is_bf16>(rest), load_first(from + whole * lanes, left), sums[3]);
      }
      p.y[x * p.y_row + o] = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

#endif

void few_rows_f32(const FewRows<FloatRows>& p) {
#ifdef __AVX2__
  if (p.format == BlockFormat::f16) return halves_rows<false>(p);
  if (p.format == BlockFormat::bf16) return halves_rows<true>(p);
#endif
  int64_t o = 0;
  for (; o + 4 <= p.w_rows; o += 4) f32_of<4>(p, o);
  for (; o < p.w_rows; ++o) f32_of<1>(p, o);
}

}  // namespace headroom::engine::HEADROOM_ISA
