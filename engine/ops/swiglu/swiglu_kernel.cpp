#include "engine/ops/swiglu/swiglu_kernel.h"

#include "engine/cpu/rows.h"
#include "engine/ops/elementwise/activations.h"

namespace headroom::engine::HEADROOM_ISA {

void swiglu_forward(const float* gate, const float* up, float* y, int64_t n) {
  for_each_vec(n, [&](int64_t i, auto at) { at.store(y + i, Silu::f(at.load(gate + i)) * at.load(up + i)); });
}

void swiglu_backward(const float* dy, const float* gate, const float* up, float* dgate, float* dup, int64_t n) {
  const Vec one(1.0f);
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec d = at.load(dy + i), x = at.load(gate + i), s = one / (one + exp(-x));
    Vec dg = dgate ? d * at.load(up + i) * s * fma(x, one - s, one) : d, du = d * x * s;
    if (const Mask is_tail = abs(x) > Vec(64.0f); any(is_tail)) {  // as Silu's
      const Vec t = maximum(Vec(-1000.0f), x);
      const Mask is_low = is_tail & (x < Vec(0.0f));
      if (dgate) {
        const Vec g = d * at.load(up + i);
        dg = select(is_low, g * times_exp(one + t, t), select(is_tail, g, dg));
      }
      du = select(is_low, d * times_exp(t, t), du);
    }
    if (dgate) at.store(dgate + i, dg);
    if (dup) at.store(dup + i, du);
  });
}

}  // namespace headroom::engine::HEADROOM_ISA
