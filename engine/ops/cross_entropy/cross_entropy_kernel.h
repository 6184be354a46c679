#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// Per row of n ≥ 1 logits its loss and, unless dx is null, its gradient times `factor`; zero where the target is
/// `ignore`.
HEADROOM_KERNEL_AVX512(void, cross_entropy_rows,
                       (const float* x, const int64_t* targets, int64_t ignore, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n))

}  // namespace headroom::engine
