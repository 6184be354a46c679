#pragma once
#include <utility>

#include "autograd/ops/dropout.h"

namespace headroom::autograd {

/// Over the last axis: x (…, C), weight (C), bias (C) or undefined → (…, C).
Var layer_norm(const Var& x, const Var& weight, const Var& bias, double eps = 1e-5);
/// x + dropout(residual), of one shape, and its layer_norm: on a GPU in one pass over memory. {sum, norm}
std::pair<Var, Var> add_layer_norm(const Var& x, const Var& residual, const Var& weight, const Var& bias,
                                   double eps = 1e-5, const engine::Dropout& dropout = {});

}  // namespace headroom::autograd
