#include "engine/ops/swiglu/swiglu.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var swiglu(const Var& gate, const Var& up) {
  return record(
      "swiglu", engine::swiglu(gate.value(), up.value()), {gate, up},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_gate, const Tensor& kept_up) -> std::vector<Tensor> {
        const auto g = engine::swiglu_grad(dy, kept_gate, kept_up, needs[0], needs[1]);
        return {g.dgate, g.dup};
      },
      saved("gate", gate), saved("up", up));
}

}  // namespace headroom::autograd
