#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Σ of n contiguous values.
HEADROOM_KERNEL(float, sum_run, (const float* x, int64_t n), (x, n))
/// y[j] = Σ_i x[i·n + j] over `rows` rows, added from the first to the last.
HEADROOM_KERNEL(void, sum_columns, (const float* x, float* y, int64_t rows, int64_t n), (x, y, rows, n))

}  // namespace headroom::engine
