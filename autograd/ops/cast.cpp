// No kernel of its own: the engine's Tensor::to() forward and backward.
#include "autograd/ops.h"
#include "engine/dispatch/operand.h"
#include "engine/error.h"

namespace headroom::autograd {

Var cast(const Var& x, engine::DType dtype) {
  require(x.defined(), "cast: operand x is undefined");
  const engine::DType from = x.value().dtype();
  if (from == dtype) return x;
  require(engine::is_floating(from) && engine::is_floating(dtype), "cast: from {} to {}, expected real dtypes",
          x.value(), engine::name_of(dtype));
  return record(
      "cast", x.value().to(dtype), {x},
      [](const Tensor& dy, const Needs&, engine::DType kept_from) -> std::vector<Tensor> { return {dy.to(kept_from)}; },
      from);
}

}  // namespace headroom::autograd
