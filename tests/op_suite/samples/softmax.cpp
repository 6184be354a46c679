#include "engine/ops/softmax/softmax.h"
#include "autograd/ops.h"
#include "tests/op_suite/row_samples.h"

namespace headroom::autograd {

OpSamples softmax_samples() {
  const auto twin = [](const std::vector<Var>& in) {
    const Var e = exp(in[0]);
    return e / sum(e, {-1}, true);
  };
  OpSamples out = row_samples(
      "softmax", [](const std::vector<Var>& in) { return softmax(in[0]); }, twin);
  out.value = {16}, out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
