#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// y[e] = x[e]·cosine[e] + x[partner of e]·sine[e] for `rows` rows of `dim` elements that share one position; the table
/// includes the sign of each sine.
HEADROOM_KERNEL_AVX512(void, rope_rows,
                       (const float* x, float* y, const float* cosine, const float* sine, int64_t rows, int64_t dim,
                        bool interleaved))

}  // namespace headroom::engine
