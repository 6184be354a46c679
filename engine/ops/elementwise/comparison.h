#pragma once
#include "engine/elementwise/binary.h"
#include "engine/ops/elementwise/comparison_list.h"

namespace headroom::engine {

/// NAME(a, b): less, less_equal, greater, greater_equal, equal, not_equal, element by element → bool. Shapes broadcast
/// as in NumPy; any dtype, the same for both. A comparison with NaN is false, not_equal with it true. Throws Error
/// naming the op and both operands when they do not fit. NAME(a, c): with a number, rounded to a's dtype; where that is
/// an integer's, c must be one of its values.
#define HEADROOM_DECLARE(NAME, FUNCTOR)          \
  extern BinaryOp NAME##_op;                     \
  Tensor NAME(const Tensor& a, const Tensor& b); \
  Tensor NAME(const Tensor& a, double c);
HEADROOM_COMPARISONS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

/// The ordered ones. There is no `==` and no `!=`: of two handles a reader takes it for one answer, not for a tensor of
/// answers. Say equal(a, b), or a.shares_storage(b).
inline Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
inline Tensor operator<(const Tensor& a, double c) { return less(a, c); }
inline Tensor operator<=(const Tensor& a, double c) { return less_equal(a, c); }
inline Tensor operator>(const Tensor& a, double c) { return greater(a, c); }
inline Tensor operator>=(const Tensor& a, double c) { return greater_equal(a, c); }
inline Tensor operator<(double c, const Tensor& a) { return greater(a, c); }
inline Tensor operator<=(double c, const Tensor& a) { return greater_equal(a, c); }
inline Tensor operator>(double c, const Tensor& a) { return less(a, c); }
inline Tensor operator>=(double c, const Tensor& a) { return less_equal(a, c); }

}  // namespace headroom::engine
