#pragma once
#include <string>
#include <vector>

#include "autograd/op_suite/sample.h"

namespace headroom::autograd {

using OverAxes = Var (*)(const Var& x, const std::vector<int>& axes, bool keep_axes);

/// Samples for an op that chooses elements along axes (max, argmin): all axes, the last, the first, several, long rows,
/// rows of one sign, size 1 and empty; and what it refuses. `has_gradient` false: x is fixed().
OpSamples extremum_samples(const std::string& op, OverAxes f, bool has_gradient = true);

}  // namespace headroom::autograd
