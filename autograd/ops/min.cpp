#include "engine/ops/min/min.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var min(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  const auto [y, index] = engine::min(x.value(), axes, keep_axes);
  return record(
      "min", y, {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_index, const Shape& kept_shape,
         const std::vector<int>& kept_axes) -> std::vector<Tensor> {
        return {engine::min_grad(dy, kept_index, kept_shape, kept_axes)};
      },
      saved("index", index), x.shape(), axes);
}

}  // namespace headroom::autograd
