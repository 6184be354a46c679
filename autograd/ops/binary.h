#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Shapes broadcast as in NumPy. Throws Error naming the op and both shapes if they do not fit.
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
/// The larger or the smaller of a and b, NaN if either is; if they are equal, each gets half of the gradient.
Var maximum(const Var& a, const Var& b);
Var minimum(const Var& a, const Var& b);

}  // namespace headroom::autograd
