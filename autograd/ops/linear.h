#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out).
Var linear(const Var& x, const Var& weight, const Var& bias = {});

}  // namespace headroom::autograd
