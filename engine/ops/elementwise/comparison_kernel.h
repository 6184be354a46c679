#pragma once
#include <cstdint>

#include "engine/kernel.h"
#include "engine/ops/elementwise/comparison_list.h"

namespace headroom::engine {

#define HEADROOM_DECLARE(NAME, FUNCTOR) \
  HEADROOM_KERNEL(void, NAME##_run,     \
                  (const float* a, int64_t stride_a, const float* b, int64_t stride_b, bool* y, int64_t n))
HEADROOM_COMPARISONS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::engine
