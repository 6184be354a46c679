#pragma once
#include <cstdint>

#include "engine/kernel.h"
#include "engine/ops/elementwise/binary_list.h"

namespace headroom::engine {

#define HEADROOM_DECLARE(NAME, FUNCTOR)        \
  HEADROOM_KERNEL_AVX512(void, NAME##_forward, \
                         (const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y, int64_t n))
HEADROOM_BINARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE
#define HEADROOM_DECLARE(NAME, FUNCTOR)                                                                            \
  HEADROOM_KERNEL_AVX512(                                                                                          \
      void, NAME##_backward_a,                                                                                     \
      (const float* dy, const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* da, int64_t n)) \
  HEADROOM_KERNEL_AVX512(                                                                                          \
      void, NAME##_backward_b,                                                                                     \
      (const float* dy, const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* db, int64_t n))
HEADROOM_SLOPED_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::engine
