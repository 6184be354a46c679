#include "engine/ops/log_softmax/log_softmax.h"
#include "autograd/ops.h"
#include "tests/op_suite/row_samples.h"

namespace headroom::autograd {

OpSamples log_softmax_samples() {
  const auto twin = [](const std::vector<Var>& in) { return in[0] - log(sum(exp(in[0]), {-1}, true)); };
  OpSamples out = row_samples(
      "log_softmax", [](const std::vector<Var>& in) { return log_softmax(in[0]); }, twin);
  out.value = {4, 1e-6}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
