#include "engine/ops/kl_divergence/kl_divergence_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void kl_divergence_rows(const float* x, const float* teacher, const bool* counted, float factor, float* loss, float* dx,
                        int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, teacher += n) {
    float* to = dx ? dx + r * n : nullptr;
    if (counted && !counted[r]) {
      loss[r] = 0;
      if (to) for_each_vec(n, [&](int64_t i, auto at) { at.store(to + i, Vec(0.0f)); });
      continue;
    }
    const Vec top(row_maximum(x, n)), teacher_top(row_maximum(teacher, n));
    Vec total(0.0f), teacher_total(0.0f);
    for_each_vec(n, [&](int64_t i, auto at) {
      const Vec e = exp(at.load(x + i) - top);
      if (to) at.store(to + i, e);
      total += at.keep(e);
      teacher_total += at.keep(exp(at.load(teacher + i) - teacher_top));
    });
    const float sum_exp = sum(total), teacher_sum = sum(teacher_total);
    // Differences first: where the rows are alike nothing large cancels.
    const Vec shift(__builtin_logf(teacher_sum) - __builtin_logf(sum_exp));
    const Vec share(1.0f / teacher_sum), weight(factor / sum_exp), teacher_weight(factor / teacher_sum);
    Vec divergence(0.0f);
    for_each_vec(n, [&](int64_t i, auto at) {
      const Vec from = at.load(teacher + i) - teacher_top, own = at.load(x + i) - top, e = exp(from);
      divergence += at.keep(e * share * (from - own - shift));
      if (to) at.store(to + i, at.load(to + i) * weight - e * teacher_weight);
    });
    loss[r] = sum(divergence);
  }
}

}  // namespace headroom::engine::HEADROOM_ISA
