#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// y = x · Wᵀ + b: x (…, in), weight (out, in), bias (out) or undefined → (…, out). `pads_rows`: see engine::linear().
Var linear(const Var& x, const Var& weight, const Var& bias = {}, bool pads_rows = false);

/// Several linear layers of one x as one product: weights (out_i, in), biases (out_i) or none at all → (…, Σ out_i),
/// for split(). Neighbours in an arena are read, and their gradients written, in place; others are copied together. The
/// gradient of x is one sum over Σ out_i, in another order than the separate layers' sums.
Var joint_linear(const Var& x, const std::vector<Var>& weights, const std::vector<Var>& biases = {});

}  // namespace headroom::autograd
