#include "engine/ops/rope/rope.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var rope(const Var& x, const engine::RopeTable& table) {
  return record(
      "rope", engine::rope(x.value(), table), {x},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_angles,
         bool kept_interleaved) -> std::vector<Tensor> {
        return {engine::rope_grad(dy, {kept_angles, kept_interleaved}, needs.place(0))};
      },
      saved("angles", table.angles), table.interleaved);
}

Var rope(const Var& x, const Tensor& positions, double base, bool interleaved) {
  return rope(x, engine::rope_table(x.value(), positions, base, interleaved));
}

}  // namespace headroom::autograd
