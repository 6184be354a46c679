#pragma once
#include <cstdint>

#include "engine/kernel.h"
#include "engine/ops/elementwise/unary_list.h"

namespace headroom::engine {

#define HEADROOM_DECLARE(NAME, FUNCTOR)                                               \
  HEADROOM_KERNEL_AVX512(void, NAME##_forward, (const float* x, float* y, int64_t n)) \
  HEADROOM_KERNEL_AVX512(void, NAME##_backward, (const float* dy, const float* x, const float* y, float* dx, int64_t n))
HEADROOM_UNARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::engine
