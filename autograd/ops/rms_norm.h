#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Over the last axis: x (…, C), weight (C) → (…, C).
Var rms_norm(const Var& x, const Var& weight, double eps = 1e-6);

}  // namespace headroom::autograd
