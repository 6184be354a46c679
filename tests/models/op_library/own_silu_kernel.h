#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

HEADROOM_KERNEL(void, own_silu_forward, (const float* x, float* y, int64_t n))
HEADROOM_KERNEL(void, own_silu_backward, (const float* dy, const float* x, const float* y, float* dx, int64_t n))

}  // namespace headroom::engine
