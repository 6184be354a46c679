#pragma once
#include <cstdint>
#include <string>

#include "engine/dtype.h"

namespace headroom::engine {

/// "2.6.3", or "" in a build without oneDNN.
std::string onednn_version();

/// C = op(A) · op(B) in row-major f32, with the instructions that active_isa() allows. Runs on the calling thread, or,
/// to measure the library's speed, on several, whose number may change the bits. False if oneDNN is not built in or
/// refuses.
bool onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* b, int64_t ldb, float* c, int64_t ldc, int threads = 1);
/// The same with bf16 factors. Also false if the library has no such product.
bool onednn_gemm_bf16(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const bf16* a, int64_t lda,
                      const bf16* b, int64_t ldb, float* c, int64_t ldc, int threads = 1);

}  // namespace headroom::engine
