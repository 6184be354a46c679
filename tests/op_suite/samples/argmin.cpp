#include "engine/ops/argmin/argmin.h"
#include "autograd/ops.h"
#include "tests/op_suite/extremum_samples.h"

namespace headroom::autograd {

OpSamples argmin_samples() {
  const OverAxes positions = [](const Var& x, const std::vector<int>& axes, bool keep) {
    return Var(argmin(x, axes, keep).to(x.value().dtype()));  // as numbers, which the driver compares
  };
  return extremum_samples("argmin", positions, false);
}

}  // namespace headroom::autograd
