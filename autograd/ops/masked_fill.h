#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// `value` where mask (bool, broadcasts to x) is true, x elsewhere.
Var masked_fill(const Var& x, const Tensor& mask, double value);

}  // namespace headroom::autograd
