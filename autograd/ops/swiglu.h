#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// silu(gate) · up, same shape.
Var swiglu(const Var& gate, const Var& up);

}  // namespace headroom::autograd
