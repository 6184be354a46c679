#pragma once
#include <functional>
#include <string>
#include <vector>

#include "autograd/op_suite/sample.h"

namespace headroom::autograd {

/// Samples of an op of one operand that works along the last axis (softmax, log_softmax): short and long rows, many of
/// them, large values, size 1 and empty; and what it refuses. Large values and empty rows have no `twin`: composed from
/// exp and sum it overflows there, or divides by nothing.
OpSamples row_samples(const std::string& op, const std::function<Var(const std::vector<Var>&)>& run,
                      const std::function<Var(const std::vector<Var>&)>& twin);

}  // namespace headroom::autograd
