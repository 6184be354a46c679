#include "engine/ops/where/where.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var where(const Tensor& condition, const Var& a, const Var& b) {
  return record(
      "where", engine::where(condition, a.value(), b.value()), {a, b},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_condition) -> std::vector<Tensor> {
        const Tensor zero = Tensor::zeros({}, dy.dtype(), dy.device());
        return {needs[0] ? engine::where(kept_condition, dy, zero) : Tensor(),
                needs[1] ? engine::where(kept_condition, zero, dy) : Tensor()};
      },
      saved("condition", condition));
}

}  // namespace headroom::autograd
