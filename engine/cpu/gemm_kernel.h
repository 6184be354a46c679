#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// C (m, n) = A (m, k) · B (k, n) + bias, on one thread; n ≤ gemm_tile_columns. Element (i, p) of A is a[i·a_row +
/// p·a_column], and B's likewise; c's rows are `ldc` apart. bias (n) or null. With `add`, adds the product to C,
/// without a bias.
template <class T>
struct GemmTile {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  T* c;
  int64_t ldc;
  const T* bias;
  bool add;
};
inline constexpr int64_t gemm_tile_columns = 256;
/// Block of k: its panel of B (k × 2 vectors) stays in first-level cache, gemm_row_block rows of A in second-level.
inline constexpr int64_t gemm_k_block = 256, gemm_row_block = 96;
/// Elements of scratch that gemm_tile needs, 64-byte aligned: the packed block of B and one of A.
inline constexpr int64_t gemm_scratch = gemm_k_block * (gemm_tile_columns + gemm_row_block);

HEADROOM_KERNEL_AVX512(void, gemm_tile_f32, (const GemmTile<float>& tile, float* scratch))
HEADROOM_KERNEL_AVX512(void, gemm_tile_f64, (const GemmTile<double>& tile, double* scratch))

}  // namespace headroom::engine
