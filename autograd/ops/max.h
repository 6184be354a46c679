#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// The largest over `axes` (all if empty), which become size 1 if `keep_axes`, else vanish. The gradient goes to the
/// first of equal maxima.
Var max(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false);

}  // namespace headroom::autograd
