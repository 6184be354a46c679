#include "engine/ops/argmax/argmax.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Tensor argmax(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  return engine::argmax(x.value(), axes, keep_axes);
}

}  // namespace headroom::autograd
