// Compiled once per instruction set: products of a few rows in 8 bits by W, which is read once. AVX2 and VNNI have the
// same vectors of 32 bytes and the same bits; of the 64 bytes that AVX-512 could take, a block of W has half.
#include "engine/ops/quantized_linear/integer_kernel.h"

#include "engine/cpu/simd.h"
#include "engine/ops/quantized_linear/quantized_linear_blocks.h"
#include "engine/quantized/activations_kernel.h"
#include "engine/quantized/dequantize_kernel.h"

namespace headroom::engine::HEADROOM_ISA {

#ifdef __AVX2__

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
      if constexpr (w_rows > 1) {
        const uint8_t* const ahead = w[0] + bytes_ahead + (b / 8 * (w_rows - 1) + r) * Blocks::group_bytes;
#pragma GCC unroll 8
        for (int line = 0; line < Blocks::group_bytes; line += 64) _mm_prefetch(ahead + line, _MM_HINT_T0);
      }
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
      p.y[(x0 + x) * p.y_row + first + r] =
          sum_of(Blocks::has_minimum ? _mm256_add_ps(sums[r][x], minima[r][x]) : sums[r][x]);
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

#else

void few_rows_int8(const FewRows<ByteRows>& p) {
  constexpr int64_t unpacked = 256;  // columns at a time: whole blocks of every format
  float w[unpacked];
  for (int64_t o = 0; o < p.w_rows; ++o)
    for (int64_t r = 0; r < p.x_rows; ++r) {
      float y = 0;
      for (int64_t from = 0; from < p.cols; from += unpacked) {
        const int64_t n = p.cols - from < unpacked ? p.cols - from : unpacked;
        dequantize_blocks(p.format, p.w + o * p.row_bytes + from / p.block_elements * p.block_bytes,
                          n / p.block_elements, w);
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
