#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Per row of n ≥ 1 logits its divergence from the teacher's and, unless dx is null, its gradient times `factor`; zero
/// where `counted` (null: nowhere) is false.
HEADROOM_KERNEL_AVX512(void, kl_divergence_rows,
                       (const float* x, const float* teacher, const bool* counted, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n))

}  // namespace headroom::engine
