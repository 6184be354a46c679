#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// `rows` rows of n ≥ 1 elements.
HEADROOM_KERNEL_AVX512(void, rms_norm_rows,
                       (const float* x, const float* weight, float* y, float* inv_rms, int64_t rows, int64_t n,
                        float eps))
/// dx, and Σ over these rows into dweight; either may be null.
HEADROOM_KERNEL_AVX512(void, rms_norm_grad_rows,
                       (const float* dy, const float* x, const float* weight, const float* inv_rms, float* dx,
                        float* dweight, int64_t rows, int64_t n))

}  // namespace headroom::engine
