#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

HEADROOM_KERNEL(void, clamp_forward, (const float* x, float low, float high, float* y, int64_t n))
HEADROOM_KERNEL(void, clamp_backward, (const float* dy, const float* x, float low, float high, float* dx, int64_t n))

}  // namespace headroom::engine
