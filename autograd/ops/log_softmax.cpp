#include "engine/ops/log_softmax/log_softmax.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var log_softmax(const Var& x) {
  const Tensor y = engine::log_softmax(x.value());
  return record(
      "log_softmax", y, {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_y) -> std::vector<Tensor> {
        return {engine::log_softmax_grad(dy, kept_y)};
      },
      saved("y", y));
}

}  // namespace headroom::autograd
