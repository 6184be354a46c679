// Compiled once per instruction set: products of a few rows by W, which is read once.
#include "engine/ops/quantized_linear/quantized_linear_kernel.h"

#include "engine/cpu/simd.h"
#include "engine/ops/quantized_linear/quantized_linear_blocks.h"
#include "engine/quantized/activations_kernel.h"
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
  constexpr int width = 2 * lanes, ahead = 4096;  // bytes: of a vector's numbers, to fetch before they are needed
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
        for (int line = 0; line < 4 * width; line += 64) _mm_prefetch(w + i * width + ahead + line, _MM_HINT_T0);
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

#if defined(__AVX2__) && !defined(__AVX512F__)

/// So many bytes further on, W is fetched while its rows are multiplied, in the order of memory: to the processor's own
/// prefetcher rows that are read side by side are no stream.
static constexpr int64_t bytes_ahead = 4096;

/// `w_rows` rows of W from `first` on with `x_rows` of x: eight blocks of 32 at a time, whose scales are made together.
template <class Blocks, int w_rows, int x_rows>
static void int8_of(const FewRows<ByteRows>& p, int64_t first, int64_t x0) {
  __m256 sums[w_rows][x_rows], minima[w_rows][x_rows];
  const uint8_t* w[w_rows];
  alignas(32) float steps[w_rows][x_rows][8 * Blocks::scales];
  const int64_t blocks = p.cols / activation_block;
#pragma GCC unroll 4
  for (int r = 0; r < w_rows; ++r) {
    w[r] = p.w + (first + r) * p.row_bytes;
#pragma GCC unroll 4
    for (int x = 0; x < x_rows; ++x) sums[r][x] = minima[r][x] = _mm256_setzero_ps();
  }
  const auto add_scales = [&](int64_t b, int count) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < w_rows; ++r) {
      const auto scales = Blocks::scales_of(w[r], count);
      const uint8_t* const ahead = w[0] + bytes_ahead + (b / 8 * (w_rows - 1) + r) * Blocks::group_bytes;
#pragma GCC unroll 8
      for (int line = 0; line < Blocks::group_bytes; line += 64) _mm_prefetch(ahead + line, _MM_HINT_T0);
#pragma GCC unroll 4
      for (int x = 0; x < x_rows; ++x) {
        const int64_t at = (x0 + x) * p.x.blocks + b;
        const __m256 of_x = _mm256_loadu_ps(p.x.scales + at);
        for (int s = 0; s < Blocks::scales; ++s) _mm256_store_ps(steps[r][x] + 8 * s, _mm256_mul_ps(scales.d[s], of_x));
        if constexpr (Blocks::has_minimum)
          minima[r][x] = _mm256_fmadd_ps(scales.m, _mm256_loadu_ps(p.x.sums + at), minima[r][x]);
      }
    }
  };
  const auto add_block = [&](int64_t b, int i) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int r = 0; r < w_rows; ++r) {
      const __m256i q = Blocks::values_of(w[r], i);
#pragma GCC unroll 4
      for (int x = 0; x < x_rows; ++x) {
        const int64_t at = ((x0 + x) * p.x.blocks + b + i) * activation_block;
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p.x.values + at));
        const __m256 dots = _mm256_cvtepi32_ps(dots_of<Blocks::is_signed>(q, a));
        sums[r][x] = _mm256_fmadd_ps(dots, Blocks::step_of(steps[r][x], i), sums[r][x]);
      }
    }
  };
  int64_t b = 0;
  for (; b + 8 <= blocks; b += 8) {
    add_scales(b, 8);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) add_block(b, i);
#pragma GCC unroll 4
    for (int r = 0; r < w_rows; ++r) w[r] += Blocks::group_bytes;
  }
  if (b < blocks) {
    const int count = static_cast<int>(blocks - b);
    add_scales(b, count);
    for (int i = 0; i < count; ++i) add_block(b, i);
  }
#pragma GCC unroll 4
  for (int r = 0; r < w_rows; ++r)
#pragma GCC unroll 4
    for (int x = 0; x < x_rows; ++x) {
      const __m256 all = Blocks::has_minimum ? _mm256_add_ps(sums[r][x], minima[r][x]) : sums[r][x];
      p.y[(x0 + x) * p.y_row + first + r] = sum(Vec(reinterpret_cast<RawF>(all)));
    }
}

template <class Blocks>
static void int8_rows(const FewRows<ByteRows>& p) {
  int64_t x = 0;
  for (; x + 4 <= p.x_rows; x += 4)
    for (int64_t o = 0; o < p.w_rows; ++o) int8_of<Blocks, 1, 4>(p, o, x);
  for (; x + 2 <= p.x_rows; x += 2)
    for (int64_t o = 0; o < p.w_rows; ++o) int8_of<Blocks, 1, 2>(p, o, x);
  if (x == p.x_rows) return;
  int64_t o = 0;
  // Side by side four rows hide how long a sum takes. Q8_0's bytes need no unpacking: memory is what it waits for, and
  // a single stream is read twice as fast.
  if constexpr (!std::is_same_v<Blocks, IntegerBlocks<blocks::Q8_0>>)
    for (; o + 4 <= p.w_rows; o += 4) int8_of<Blocks, 4, 1>(p, o, x);
  for (; o < p.w_rows; ++o) int8_of<Blocks, 1, 1>(p, o, x);
}

void few_rows_int8(const FewRows<ByteRows>& p) {
  visit_format(p.format, [&](auto f) {
    if constexpr (decltype(f)::has_integer_products) int8_rows<IntegerBlocks<decltype(f)>>(p);
  });
}

#elif !defined(__AVX2__)

void few_rows_int8(const FewRows<ByteRows>& p) {
  float w[unpacked];
  for (int64_t o = 0; o < p.w_rows; ++o)
    for (int64_t r = 0; r < p.x_rows; ++r) {
      float y = 0;
      for (int64_t from = 0; from < p.cols; from += unpacked) {
        const int64_t n = p.cols - from < unpacked ? p.cols - from : unpacked;
        unpack(p, o, 1, from, n, w);
        for (int64_t i = 0; i < n; i += activation_block) {
          const int64_t b = r * p.x.blocks + (from + i) / activation_block;
          const int8_t* const a = p.x.values + b * activation_block;
          float dot = 0;
          for (int64_t j = 0; j < activation_block; ++j) dot += w[i + j] * static_cast<float>(a[j]);
          y += dot * p.x.scales[b];
        }
      }
      p.y[r * p.y_row + o] = y;
    }
}

#endif

}  // namespace headroom::engine::HEADROOM_ISA
