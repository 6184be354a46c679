#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// NormLoop of engine/ops/rows/norm.h. rms_norm's touch no bias and no mean.
HEADROOM_KERNEL_AVX512(void, layer_norm_rows,
                       (const float* x, const float* weight, const float* bias, float* y, float* mean, float* inverse,
                        int64_t rows, int64_t n, float eps))
HEADROOM_KERNEL_AVX512(void, rms_norm_rows,
                       (const float* x, const float* weight, const float* bias, float* y, float* mean, float* inverse,
                        int64_t rows, int64_t n, float eps))
/// NormGradLoop.
HEADROOM_KERNEL_AVX512(void, layer_norm_grad_rows,
                       (const float* dy, const float* x, const float* weight, const float* mean, const float* inverse,
                        float* dx, float* dweight, float* dbias, int64_t rows, int64_t n))
HEADROOM_KERNEL_AVX512(void, rms_norm_grad_rows,
                       (const float* dy, const float* x, const float* weight, const float* mean, const float* inverse,
                        float* dx, float* dweight, float* dbias, int64_t rows, int64_t n))

}  // namespace headroom::engine
