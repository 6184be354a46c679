#include "engine/ops/where/where_kernel.h"

namespace headroom::engine::HEADROOM_ISA {

// The compiler widens the bytes to lanes by itself once the strides are constants.
template <int64_t stride_a, int64_t stride_b>
static void run(const bool* condition, const float* a, const float* b, float* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float yes = a[i * stride_a], no = b[i * stride_b];
    y[i] = condition[i] ? yes : no;
  }
}

void where_run(const bool* condition, const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y,
               int64_t n) {
  if (stride_a && stride_b) run<1, 1>(condition, a, b, y, n);
  else if (stride_a) run<1, 0>(condition, a, b, y, n);
  else if (stride_b) run<0, 1>(condition, a, b, y, n);
  else run<0, 0>(condition, a, b, y, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
