#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Stacks n parts of one shape (…) along a new axis: (…, n, …), n at `axis` of the result. Throws Error naming the
/// first part that does not fit.
Var stack(const std::vector<Var>& parts, int axis = 0);

}  // namespace headroom::autograd
