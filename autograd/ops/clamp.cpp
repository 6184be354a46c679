#include "engine/ops/clamp/clamp.h"

#include <limits>

#include "autograd/ops.h"

namespace headroom::autograd {

Var clamp(const Var& x, double low, double high) {
  return record(
      "clamp", engine::clamp(x.value(), low, high), {x},
      [](const Tensor& dy, const Needs&, const Tensor& kept_x, double kept_low,
         double kept_high) -> std::vector<Tensor> { return {engine::clamp_grad(dy, kept_x, kept_low, kept_high)}; },
      saved("x", x), low, high);
}

}  // namespace headroom::autograd
