#include "engine/ops/argmax/argmax.h"
#include "autograd/ops.h"
#include "tests/op_suite/extremum_samples.h"

namespace headroom::autograd {

OpSamples argmax_samples() {
  const OverAxes positions = [](const Var& x, const std::vector<int>& axes, bool keep) {
    return Var(argmax(x, axes, keep).to(x.value().dtype()));  // as numbers, which the driver compares
  };
  return extremum_samples("argmax", positions, false);
}

}  // namespace headroom::autograd
