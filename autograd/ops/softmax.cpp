#include "engine/ops/softmax/softmax.h"

#include "autograd/op_suite/row_samples.h"
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

OpSamples softmax_samples() {
  const auto twin = [](const std::vector<Var>& in) {
    const Var e = exp(in[0]);
    return e / sum(e, {-1}, true);
  };
  return row_samples(
      "softmax", [](const std::vector<Var>& in) { return softmax(in[0]); }, twin);
}

}  // namespace headroom::autograd
