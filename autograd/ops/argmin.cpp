#include "engine/ops/argmin/argmin.h"

#include "autograd/op_suite/extremum_samples.h"
#include "autograd/ops.h"

namespace headroom::autograd {

Tensor argmin(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  return engine::argmin(x.value(), axes, keep_axes);
}

OpSamples argmin_samples() {
  const OverAxes positions = [](const Var& x, const std::vector<int>& axes, bool keep) {
    return Var(argmin(x, axes, keep).to(x.value().dtype()));  // as numbers, which the driver compares
  };
  return extremum_samples("argmin", positions, false);
}

}  // namespace headroom::autograd
