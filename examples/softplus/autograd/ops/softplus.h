#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// log(1 + e^x), any shape.
Var softplus(const Var& x);

}  // namespace headroom::autograd
