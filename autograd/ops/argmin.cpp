#include "engine/ops/argmin/argmin.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Tensor argmin(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  return engine::argmin(x.value(), axes, keep_axes);
}

}  // namespace headroom::autograd
