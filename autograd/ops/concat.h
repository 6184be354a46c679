#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Joins the parts along `axis`. Throws Error naming the first part that does not fit.
Var concat(const std::vector<Var>& parts, int axis);

}  // namespace headroom::autograd
