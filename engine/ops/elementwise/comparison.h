#pragma once
#include "engine/elementwise/binary.h"
#include "engine/ops/elementwise/comparison_list.h"

namespace headroom::engine {

/// NAME(a, b): less, less_equal, greater, greater_equal, equal, not_equal, elementwise → bool. Shapes broadcast as in
/// NumPy; any dtype, the same for both. Comparing with NaN gives false, except not_equal, which gives true. Throws
/// Error naming the op and both operands if they do not fit. NAME(a, c) compares with a number rounded to a's dtype; if
/// that is an integer dtype, c must be one of its values.
#define HEADROOM_DECLARE(NAME, FUNCTOR)          \
  extern BinaryOp NAME##_op;                     \
  Tensor NAME(const Tensor& a, const Tensor& b); \
  Tensor NAME(const Tensor& a, double c);
HEADROOM_COMPARISONS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

/// The ordering operators. There is no `==` or `!=`: readers would expect one answer for two handles, not a tensor of
/// answers. Write equal(a, b), or a.shares_storage(b).
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
