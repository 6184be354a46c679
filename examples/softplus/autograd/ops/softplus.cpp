#include "autograd/ops/softplus.h"

#include "engine/ops/softplus/softplus.h"

namespace headroom::autograd {

Var softplus(const Var& x) {
  return record(
      "softplus", engine::softplus(x.value()), {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_x) -> std::vector<Tensor> {
        return {engine::softplus_grad(dy, kept_x)};
      },
      saved("x", x));
}

}  // namespace headroom::autograd
