#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

HEADROOM_KERNEL(void, sum_squares_forward, (const float* x, float* y, int64_t rows, int64_t n))
HEADROOM_KERNEL(void, sum_squares_backward, (const float* dy, const float* x, float* dx, int64_t rows, int64_t n))

}  // namespace headroom::engine
