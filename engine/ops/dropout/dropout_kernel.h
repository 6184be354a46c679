#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// y[i] = bits_i ≥ threshold ? x[i] · factor : 0 for i < n; bits_0, bits_1, … are the words of the Philox counters
/// `block`, block + 1, … of a seed and a stream, four each.
HEADROOM_KERNEL(void, dropout_run,
                (const float* x, float* y, int64_t n, uint64_t seed, uint32_t stream, uint64_t block,
                 uint32_t threshold, float factor))

}  // namespace headroom::engine
