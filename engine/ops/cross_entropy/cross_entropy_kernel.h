#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Each row of n ≥ 1 logits gets its loss and, unless dx is null, its gradient times `factor`; both are zero if the
/// target is `ignore`.
HEADROOM_KERNEL_AVX512(void, cross_entropy_rows,
                       (const float* x, const int64_t* targets, int64_t ignore, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n))

}  // namespace headroom::engine
