#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var variance(const Var& x, const std::vector<int>& axes, bool keep_axes, int64_t correction) {
  require(x.defined(), "variance: operand x is undefined");
  int64_t n = axes.empty() ? x.value().numel() : 1;
  for (int axis : axes) n *= x.dim(x.shape().index(axis, "variance"));
  if (n <= correction)
    fail("variance: {} elements along the axes are too few for correction {}: x {}", n, correction, x.shape().str());
  const Var deviation = x - mean(x, axes, true);
  return sum(deviation * deviation, axes, keep_axes) / static_cast<double>(n - correction);
}

}  // namespace headroom::autograd
