#include "engine/ops/log_softmax/log_softmax.h"

#include "autograd/op_suite/row_samples.h"
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

OpSamples log_softmax_samples() {
  const auto twin = [](const std::vector<Var>& in) { return in[0] - log(sum(exp(in[0]), {-1}, true)); };
  return row_samples(
      "log_softmax", [](const std::vector<Var>& in) { return log_softmax(in[0]); }, twin);
}

}  // namespace headroom::autograd
