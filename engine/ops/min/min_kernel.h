#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Where the first smallest of n ≥ 1 elements stands; the first NaN, if there is one.
HEADROOM_KERNEL(int64_t, min_position, (const float* x, int64_t n))

}  // namespace headroom::engine
