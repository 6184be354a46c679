#include "engine/ops/log_softmax/log_softmax_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void log_softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, y += n) {
    const Vec top(row_maximum(x, n));
    const Vec log_total = log(Vec(sum_over(n, [&](int64_t i, auto at) { return at.keep(exp(at.load(x + i) - top)); })));
    for_each_vec(n, [&](int64_t i, auto at) { at.store(y + i, at.load(x + i) - top - log_total); });
  }
}

void log_softmax_grad_rows(const float* dy, const float* y, float* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, dy += n, y += n, dx += n) {
    const Vec total(sum_over(n, [&](int64_t i, auto at) { return at.load(dy + i); }));
    for_each_vec(n, [&](int64_t i, auto at) { at.store(dx + i, at.load(dy + i) - exp(at.load(y + i)) * total); });
  }
}

double exp_sum(const float* x, int64_t n, float& top) {
  top = row_maximum(x, n);
  double total = 0;
  constexpr int64_t chunk = 16 * lanes;  // few enough terms for f32
  for (int64_t i = 0; i < n; i += chunk)
    total += static_cast<double>(sum_over(n - i < chunk ? n - i : chunk, [&](int64_t j, auto at) {
      return at.keep(exp(at.load(x + i + j) - Vec(top)));
    }));
  return total;
}

}  // namespace headroom::engine::HEADROOM_ISA
