#pragma once
#include "engine/cpu/gemm.h"
#include "engine/dtype.h"

namespace headroom::engine {

/// y (m, n) = A (m, k) · B (k, n) + bias + added of bf16, summed in f32 and rounded once; or c (m, n), the f32 sums
/// without bias and added. Rows of y, added and c are n apart.
struct Bf16Product {
  int64_t m, n, k;
  MatrixFactor<bf16> a, b;
  bf16* y;                      ///< or null
  float* c = nullptr;           ///< used if y is null
  const float* bias = nullptr;  ///< (n)
  const bf16* added = nullptr;  ///< (m, n)
};

/// Runs `batch` products of one shape, as gemm() does: in parallel, in tiles and chunks of k that depend only on the
/// shape, so the bits are the same on any number of threads. The kernels give the same bits on every instruction set.
/// Results are m · n apart.
void gemm_bf16(const Bf16Product& product, int64_t batch = 1, const int64_t* a_offsets = nullptr,
               const int64_t* b_offsets = nullptr);

}  // namespace headroom::engine
