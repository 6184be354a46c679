#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// y[i] = condition[i] ? a[i·stride_a] : b[i·stride_b]; strides 0 or 1.
HEADROOM_KERNEL(void, where_run,
                (const bool* condition, const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y,
                 int64_t n))

}  // namespace headroom::engine
