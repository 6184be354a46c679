#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// `rows` rows of n ≥ 1 elements; bias may be null.
HEADROOM_KERNEL_AVX512(void, layer_norm_rows,
                       (const float* x, const float* weight, const float* bias, float* y, float* mean, float* inv_std,
                        int64_t rows, int64_t n, float eps))
/// dx, and Σ over these rows into dweight and dbias; any of the three may be null.
HEADROOM_KERNEL_AVX512(void, layer_norm_grad_rows,
                       (const float* dy, const float* x, const float* weight, const float* mean, const float* inv_std,
                        float* dx, float* dweight, float* dbias, int64_t rows, int64_t n))

}  // namespace headroom::engine
