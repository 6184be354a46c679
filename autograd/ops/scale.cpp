#include "engine/ops/scale/scale.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var scale(const Var& x, double factor) {
  return record(
      "scale", engine::scale(x.value(), factor), {x},
      [](const Tensor& dy, const Needs&, double kept_factor) -> std::vector<Tensor> {
        return {engine::scale(dy, kept_factor)};
      },
      factor);
}

}  // namespace headroom::autograd
