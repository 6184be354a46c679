#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Each row of n ≥ 1 logits gets its divergence from the teacher's and, unless dx is null, its gradient times `factor`;
/// both are zero if `counted` is false (null: all rows count).
HEADROOM_KERNEL_AVX512(void, kl_divergence_rows,
                       (const float* x, const float* teacher, const bool* counted, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n))

}  // namespace headroom::engine
