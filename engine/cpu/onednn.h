#pragma once
#include <cstdint>
#include <string>

namespace headroom::engine {

/// "2.6.3", or "" in a build without oneDNN.
std::string onednn_version();

/// C = op(A) · op(B) in row-major f32 on the calling thread alone, with the instructions that active_isa() allows.
/// False when oneDNN is not built in or refuses.
bool onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* b, int64_t ldb, float* c, int64_t ldc);

}  // namespace headroom::engine
