#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Where x is largest over `axes` (all when empty) → an i64 Tensor, which has no gradient. See
/// engine/ops/argmax/argmax.h.
Tensor argmax(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);

}  // namespace headroom::autograd
