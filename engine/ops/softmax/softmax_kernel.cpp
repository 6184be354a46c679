#include "engine/ops/softmax/softmax_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const Vec top(row_maximum(x, n));
    Vec total(0.0f);
    for_each_vec(n, [&](int64_t i, auto at) {
      const Vec e = exp(at.load(x + i) - top);
      at.store(y + i, e);
      total += at.keep(e);
    });
    const Vec inverse(1.0f / sum(total));
    for_each_vec(n, [&](int64_t i, auto at) { at.store(y + i, at.load(y + i) * inverse); });
  }
}

void softmax_grad_rows(const float* dy, const float* y, float* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, dy += n, y += n, dx += n) {
    const Vec dot(sum_over(n, [&](int64_t i, auto at) { return at.load(dy + i) * at.load(y + i); }));
    for_each_vec(n, [&](int64_t i, auto at) { at.store(dx + i, at.load(y + i) * (at.load(dy + i) - dot)); });
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
