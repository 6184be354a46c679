#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

Var mean(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  require(x.defined(), "mean: operand x is undefined");
  int64_t count = axes.empty() ? x.value().numel() : 1;
  for (int axis : axes) count *= x.dim(x.shape().index(axis, "mean"));
  const Var total = sum(x, axes, keep_axes);
  if (count == 0) fail("mean: no elements along the axes to average: x {}", x.shape().str());
  return scale(total, 1.0 / static_cast<double>(count));
}

}  // namespace headroom::autograd
