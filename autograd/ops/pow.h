#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// a^b, shapes broadcast as in NumPy. The gradient of b needs a ≥ 0: below, it is NaN. Where b is 0, a has the gradient
/// 0; where a is 0 and b ≥ 0, b has.
Var pow(const Var& a, const Var& b);
/// a^exponent.
Var pow(const Var& a, double exponent);

}  // namespace headroom::autograd
