#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// factor · x, any shape.
Var scale(const Var& x, double factor);

}  // namespace headroom::autograd
