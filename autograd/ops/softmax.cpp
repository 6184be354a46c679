#include "engine/ops/softmax/softmax.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var softmax(const Var& x) {
  const Tensor y = engine::softmax(x.value());
  return record(
      "softmax", y, {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_y) -> std::vector<Tensor> {
        return {engine::softmax_grad(dy, kept_y)};
      },
      saved("y", y));
}

}  // namespace headroom::autograd
