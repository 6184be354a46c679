#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// Over the last axis: x (…, C), weight (C), bias (C) or undefined → (…, C).
Var layer_norm(const Var& x, const Var& weight, const Var& bias, double eps = 1e-5);

}  // namespace headroom::autograd
