#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out). `pads_rows`: see engine::linear().
Var linear(const Var& x, const Var& weight, const Var& bias = {}, bool pads_rows = false);

}  // namespace headroom::autograd
