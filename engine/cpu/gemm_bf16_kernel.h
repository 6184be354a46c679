#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// One tile of a bf16 product (as bits), on one thread: y (m, n) = A (m, k) · B (k, n) + bias + added, summed in f32; n
/// ≤ gemm_bf16_columns, m ≤ gemm_bf16_rows. Element (i, p) of A is a[i·a_row + p·a_column], where one stride is 1; B
/// likewise. The result goes to `c`, f32 without bias and added, or to `y`, rounded once; the other is null.
struct GemmTileBf16 {
  int64_t m, n, k;
  const uint16_t* a;
  int64_t a_row, a_column;
  const uint16_t* b;
  int64_t b_row, b_column;
  float* c;
  uint16_t* y;
  int64_t stride;         ///< between rows of c, y and added
  const float* bias;      ///< (n) or null
  const uint16_t* added;  ///< (m, n) or null
};
inline constexpr int64_t gemm_bf16_columns = 512, gemm_bf16_rows = 768;
/// Block of k: a panel of B (k × 2 vectors) and gemm_bf16_row_block rows of A share the second-level cache. Longer sums
/// stay in f32 between blocks.
inline constexpr int64_t gemm_bf16_k_block = 2048, gemm_bf16_row_block = 96;
/// 32-bit words of scratch that gemm_tile_bf16 needs, 64-byte aligned: packed pairs of B and A, both halves of A's, and
/// sums.
inline constexpr int64_t gemm_bf16_scratch =
    gemm_bf16_k_block / 2 * (gemm_bf16_columns + 3 * gemm_bf16_row_block) + gemm_bf16_rows * gemm_bf16_columns;

/// Sums each element over pairs (p, p + 1) of k in order, with dot_pairs() of engine/cpu/simd_bf16.h: the bits are the
/// same on every level.
HEADROOM_KERNEL_BF16(void, gemm_tile_bf16, (const GemmTileBf16& tile, uint32_t* scratch))

}  // namespace headroom::engine
