#pragma once
#include <compare>
#include <cstdint>

#include "engine/dtype.h"

namespace headroom::engine::cuda {

/// A stack of products y_i = op(a_i) · op(b_i) of row-major matrices, y (M, N), K the inner size. A transposed a is
/// stored as (K, M), a transposed b as (N, K). Steps are in elements; step 0: the same matrix for every i.
struct BlasProduct {
  DType dtype;  ///< f32 or f64
  int64_t m, n, k, batch;
  bool transpose_a, transpose_b;
  int64_t step_a, step_b;
  auto operator<=>(const BlasProduct&) const = default;
};

/// Runs it by cuBLASLt, in full f32 (no TF32) or f64. The plan of each kind of product is made once and kept.
void blas_matmul(const BlasProduct& product, const void* a, const void* b, void* y);

}  // namespace headroom::engine::cuda
