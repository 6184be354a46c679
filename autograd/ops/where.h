#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// condition ? a : b; condition bool, broadcast with a and b.
Var where(const Tensor& condition, const Var& a, const Var& b);

}  // namespace headroom::autograd
