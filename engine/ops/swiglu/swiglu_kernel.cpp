#include "engine/ops/swiglu/swiglu_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void swiglu_forward(const float* gate, const float* up, float* y, int64_t n) {
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec x = at.load(gate + i);
    at.store(y + i, x / (Vec(1.0f) + exp(-x)) * at.load(up + i));
  });
}

void swiglu_backward(const float* dy, const float* gate, const float* up, float* dgate, float* dup, int64_t n) {
  const Vec one(1.0f);
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec d = at.load(dy + i), x = at.load(gate + i), s = one / (one + exp(-x));
    if (dgate) at.store(dgate + i, d * at.load(up + i) * s * fma(x, one - s, one));
    if (dup) at.store(dup + i, d * x * s);
  });
}

}  // namespace headroom::engine::HEADROOM_ISA
