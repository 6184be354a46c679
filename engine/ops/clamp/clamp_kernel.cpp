// Compiled once per instruction set: includes nothing but kernel headers.
#include "engine/ops/clamp/clamp_kernel.h"

#include "engine/cpu/rows.h"
#include "engine/ops/clamp/clamp_functor.h"

namespace headroom::engine::HEADROOM_ISA {

void clamp_forward(const float* x, float low, float high, float* y, int64_t n) {
  const Vec lowest(low), highest(high);
  for_each_vec(n, [&](int64_t i, auto at) { at.store(y + i, Clamp::f(at.load(x + i), lowest, highest)); });
}

void clamp_backward(const float* dy, const float* x, float low, float high, float* dx, int64_t n) {
  const Vec lowest(low), highest(high);
  for_each_vec(
      n, [&](int64_t i, auto at) { at.store(dx + i, Clamp::df(at.load(dy + i), at.load(x + i), lowest, highest)); });
}

}  // namespace headroom::engine::HEADROOM_ISA
