#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// a^b, shapes broadcast as in NumPy. The gradient of b is NaN for a < 0. If b is 0, a's gradient is 0; if a is 0 and b
/// ≥ 0, b's is.
Var pow(const Var& a, const Var& b);
/// a^exponent.
Var pow(const Var& a, double exponent);

}  // namespace headroom::autograd
