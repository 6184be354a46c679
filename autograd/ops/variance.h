#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Σ (x - mean x)² / (n - correction) over `axes` (all if empty) of n elements, which become size 1 if `keep_axes`,
/// else vanish. correction = 1: the unbiased estimate of a variance; 0: the variance of the elements themselves. Throws
/// Error unless n > correction.
Var variance(const Var& x, const std::vector<int>& axes = {}, bool keep_axes = false, int64_t correction = 1);

}  // namespace headroom::autograd
