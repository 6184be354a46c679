#include "engine/ops/softmax/softmax.h"
#include "autograd/ops.h"
#include "tests/op_suite/row_samples.h"

namespace headroom::autograd {

OpSamples softmax_samples() {
  const auto twin = [](const std::vector<Var>& in) {
    const Var e = exp(in[0]);
    return e / sum(e, {-1}, true);
  };
  return row_samples(
      "softmax", [](const std::vector<Var>& in) { return softmax(in[0]); }, twin);
}

}  // namespace headroom::autograd
