#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// min(max(x, low), high), NaN kept; a bound may be infinite. The gradient passes if low ≤ x ≤ high.
Var clamp(const Var& x, double low, double high);

}  // namespace headroom::autograd
