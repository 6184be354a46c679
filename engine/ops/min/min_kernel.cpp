#include "engine/ops/min/min_kernel.h"

#include "engine/cpu/rows.h"

namespace headroom::engine::HEADROOM_ISA {

int64_t min_position(const float* x, int64_t n) {
  // One sweep for the value, one that stops at its first occurrence. minimum() gives its second operand if either is
  // NaN.
  const Vec highest(__builtin_inff());
  Vec low = highest;
  Mask nan{RawI{}};
  for_each_vec(n, [&](int64_t i, auto at) {
    const Vec v = at.keep(at.load(x + i), highest);
    low = minimum(v, low);
    nan = nan | !(v == v);
  });
  float lowest = low.v[0];
  bool any = false;
  for (int i = 0; i < lanes; ++i) {
    lowest = low.v[i] < lowest ? low.v[i] : lowest;
    any = any || nan.v[i] != 0;
  }
  int64_t i = 0;
  while (i < n - 1 && (any ? x[i] == x[i] : x[i] != lowest)) ++i;
  return i;
}

}  // namespace headroom::engine::HEADROOM_ISA
