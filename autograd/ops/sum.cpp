#include "engine/ops/sum/sum.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var sum(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  const Tensor y = engine::sum(x.value(), axes, keep_axes);
  Shape kept = axes.empty() ? Shape::of_rank(x.value().rank()) : x.shape();
  for (int axis : axes) kept[axis] = 1;
  return record(
      "sum", y, {x},
      [](const Tensor& dy, const Needs&, const Shape& with_ones, const Shape& from) -> std::vector<Tensor> {
        return {dy.reshape(with_ones).expand(from)};
      },
      kept, x.shape());
}

}  // namespace headroom::autograd
