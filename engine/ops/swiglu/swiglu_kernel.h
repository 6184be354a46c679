#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

HEADROOM_KERNEL_AVX512(void, swiglu_forward, (const float* gate, const float* up, float* y, int64_t n))
/// dgate or dup may be null.
HEADROOM_KERNEL_AVX512(void, swiglu_backward,
                       (const float* dy, const float* gate, const float* up, float* dgate, float* dup, int64_t n))

}  // namespace headroom::engine
