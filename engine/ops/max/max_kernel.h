#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// The position of the first largest of n ≥ 1 elements, or of the first NaN, if any.
HEADROOM_KERNEL(int64_t, max_position, (const float* x, int64_t n))

}  // namespace headroom::engine
