#pragma once
#include <cstdint>
#include <string>

#include "engine/dtype.h"

namespace headroom::engine {

/// "2.6.3", or "" in a build without oneDNN.
std::string onednn_version();

/// C = op(A) · op(B) in row-major f32 on the calling thread alone, with the instructions that active_isa() allows.
/// False when oneDNN is not built in or refuses.
bool onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* b, int64_t ldb, float* c, int64_t ldc);

/// The same over all of num_threads(), and for bf16 factors: what its speed is measured by. The bits may depend on the
/// number of threads. False, too, where the library has no such product.
bool onednn_parallel_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                          int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc);
bool onednn_parallel_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const bf16* a,
                          int64_t lda, const bf16* b, int64_t ldb, float* c, int64_t ldc);

}  // namespace headroom::engine
