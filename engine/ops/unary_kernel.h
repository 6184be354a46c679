#pragma once
#include <cstdint>

#include "engine/kernel.h"
#include "engine/ops/unary_list.h"

namespace headroom::engine {

#define HEADROOM_DECLARE(NAME, FUNCTOR)                                                                           \
  HEADROOM_KERNEL(void, NAME##_forward, (const float* x, float* y, int64_t n), (x, y, n))                         \
  HEADROOM_KERNEL(void, NAME##_backward, (const float* dy, const float* x, const float* y, float* dx, int64_t n), \
                  (dy, x, y, dx, n))
HEADROOM_UNARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::engine
