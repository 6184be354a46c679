#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Along the last axis: x (…, C) → (…, C).
Var softmax(const Var& x);

}  // namespace headroom::autograd
