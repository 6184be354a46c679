#pragma once
#include "autograd/var.h"
#include "engine/ops/elementwise/comparison.h"
#include "engine/ops/elementwise/logical.h"

namespace headroom::autograd {

/// less, less_equal, greater, greater_equal, equal and not_equal → a bool Tensor without a gradient: `where(x > 0.0, x,
/// 0.1 * x)`. Combine masks with &, |, ^ and !. See engine/ops/elementwise/comparison.h.
#define HEADROOM_DECLARE(NAME, FUNCTOR)                                                         \
  inline Tensor NAME(const Var& a, const Var& b) { return engine::NAME(a.value(), b.value()); } \
  inline Tensor NAME(const Var& a, double c) { return engine::NAME(a.value(), c); }
HEADROOM_COMPARISONS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE
inline Tensor operator<(const Var& a, const Var& b) { return less(a, b); }
inline Tensor operator<=(const Var& a, const Var& b) { return less_equal(a, b); }
inline Tensor operator>(const Var& a, const Var& b) { return greater(a, b); }
inline Tensor operator>=(const Var& a, const Var& b) { return greater_equal(a, b); }
inline Tensor operator<(const Var& a, double c) { return less(a, c); }
inline Tensor operator<=(const Var& a, double c) { return less_equal(a, c); }
inline Tensor operator>(const Var& a, double c) { return greater(a, c); }
inline Tensor operator>=(const Var& a, double c) { return greater_equal(a, c); }
inline Tensor operator<(double c, const Var& a) { return greater(a, c); }
inline Tensor operator<=(double c, const Var& a) { return greater_equal(a, c); }
inline Tensor operator>(double c, const Var& a) { return less(a, c); }
inline Tensor operator>=(double c, const Var& a) { return less_equal(a, c); }

}  // namespace headroom::autograd
