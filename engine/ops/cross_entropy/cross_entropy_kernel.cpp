#include "engine/ops/cross_entropy/cross_entropy_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void cross_entropy_rows(const float* x, const int64_t* targets, int64_t ignore, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n) {
    float* to = dx ? dx + r * n : nullptr;
    if (targets[r] == ignore) {
      loss[r] = 0;
      if (to) for_each_vec(n, [&](int64_t i, auto at) { at.store(to + i, Vec(0.0f)); });
      continue;
    }
    const Vec top(row_maximum(x, n));
    Vec total(0.0f);
    if (to)
      for_each_vec(n, [&](int64_t i, auto at) {
        const Vec e = exp(at.load(x + i) - top);
        at.store(to + i, e);
        total += at.keep(e);
      });
    else for_each_vec(n, [&](int64_t i, auto at) { total += at.keep(exp(at.load(x + i) - top)); });
    const float sum_exp = sum(total);
    loss[r] = __builtin_logf(sum_exp) - (x[targets[r]] - top.v[0]);
    if (!to) continue;
    const Vec weight(factor / sum_exp);
    for_each_vec(n, [&](int64_t i, auto at) { at.store(to + i, at.load(to + i) * weight); });
    to[targets[r]] -= factor;
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
