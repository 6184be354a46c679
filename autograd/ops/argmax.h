#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// The position of the largest x over `axes` (all if empty) → an i64 Tensor without a gradient. See
/// engine/ops/argmax/argmax.h.
Tensor argmax(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);

}  // namespace headroom::autograd
