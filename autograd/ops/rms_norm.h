#pragma once
#include <utility>

#include "autograd/ops/dropout.h"

namespace headroom::autograd {

/// Over the last axis: x (…, C), weight (C) → (…, C).
Var rms_norm(const Var& x, const Var& weight, double eps = 1e-6);
/// x + dropout(residual), of one shape, and its rms_norm: on a GPU in one pass over memory. {sum, norm}
std::pair<Var, Var> add_rms_norm(const Var& x, const Var& residual, const Var& weight, double eps = 1e-6,
                                 const engine::Dropout& dropout = {});

}  // namespace headroom::autograd
