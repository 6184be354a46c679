#include "engine/ops/embedding/embedding_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

void add_listed_rows(const float* x, int64_t stride, const int64_t* rows, int64_t count, float* out, int64_t n) {
  // Eight sums at a time stay in registers while the rows go by.
  constexpr int block = 8;
  int64_t j = 0;
  for (; j + block * lanes <= n; j += block * lanes) {
    Vec total[block];
    for (Vec& t : total) t = Vec(0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const float* row = x + rows[k] * stride + j;
      for (int b = 0; b < block; ++b) total[b] += load(row + b * lanes);
    }
    for (int b = 0; b < block; ++b) store(out + j + b * lanes, total[b]);
  }
  for_each_vec(n - j, [&](int64_t i, auto at) {
    Vec total(0.0f);
    for (int64_t k = 0; k < count; ++k) total += at.load(x + rows[k] * stride + j + i);
    at.store(out + j + i, total);
  });
}

}  // namespace headroom::engine::HEADROOM_ISA
