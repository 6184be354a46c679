#include "engine/ops/max/max_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

int64_t max_position(const float* x, int64_t n) {
  // One sweep for the value, one that stops at its first occurrence.
  const float top = row_maximum(x, n);
  Mask nan{RawI{}};
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec v = at.load(x + i);
    nan = nan | !(v == v);
  });
  bool any = false;
  for (int i = 0; i < lanes; ++i) any = any || nan.v[i] != 0;
  int64_t i = 0;
  while (i < n - 1 && (any ? x[i] == x[i] : x[i] != top)) ++i;
  return i;
}

}  // namespace headroom::engine::HEADROOM_ISA
