#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// log_softmax of `rows` rows of n ≥ 1 elements.
HEADROOM_KERNEL_AVX512(void, log_softmax_rows, (const float* x, float* y, int64_t rows, int64_t n))
HEADROOM_KERNEL_AVX512(void, log_softmax_grad_rows,
                       (const float* dy, const float* y, float* dx, int64_t rows, int64_t n))
/// Σ e^(x - top) of n ≥ 1 elements, and the largest of them.
HEADROOM_KERNEL_AVX512(double, exp_sum, (const float* x, int64_t n, float& top))

}  // namespace headroom::engine
