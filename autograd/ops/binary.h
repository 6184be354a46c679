#pragma once
#include "autograd/var.h"
#include "engine/ops/elementwise/binary_list.h"

namespace headroom::autograd {

/// Shapes broadcast as in NumPy. Throws Error naming the op and both shapes if they do not fit.
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
/// maximum, minimum: the larger or the smaller of a and b, NaN if either is; if they are equal, each gets half of the
/// gradient. leaky_relu: a if a > 0, else a · b. The second operand may be a number, first rounded to a's dtype.
#define HEADROOM_DECLARE(NAME, FUNCTOR) \
  Var NAME(const Var& a, const Var& b); \
  Var NAME(const Var& a, double b);
HEADROOM_SLOPED_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::autograd
