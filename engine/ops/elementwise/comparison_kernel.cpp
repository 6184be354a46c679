// Compiled once per instruction set.
#include "engine/ops/elementwise/comparison_kernel.h"

#include "engine/ops/elementwise/comparisons.h"

namespace headroom::engine::HEADROOM_ISA {

// The compiler narrows the lanes to bytes by itself once the strides are constants.
template <class F, int64_t stride_a, int64_t stride_b>
static void compare_run(const float* a, const float* b, bool* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(a[i * stride_a], b[i * stride_b]);
}

template <class F>
static void compare_any(const float* a, int64_t stride_a, const float* b, int64_t stride_b, bool* y, int64_t n) {
  if (stride_a && stride_b) compare_run<F, 1, 1>(a, b, y, n);
  else if (stride_a) compare_run<F, 1, 0>(a, b, y, n);
  else if (stride_b) compare_run<F, 0, 1>(a, b, y, n);
  else compare_run<F, 0, 0>(a, b, y, n);
}

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                      \
  void NAME##_run(const float* a, int64_t stride_a, const float* b, int64_t stride_b, bool* y, int64_t n) { \
    compare_any<FUNCTOR>(a, stride_a, b, stride_b, y, n);                                                   \
  }
HEADROOM_COMPARISONS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine::HEADROOM_ISA
