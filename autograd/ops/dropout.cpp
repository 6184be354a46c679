#include "engine/ops/dropout/dropout.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var dropout(const Var& x, double p, const engine::RngKey& key) {
  if (p == 0) return x;
  return record(
      "dropout", engine::dropout(x.value(), p, key), {x},
      [](const Tensor& dy, const Needs&, double kept_p, const engine::RngKey& kept_key) -> std::vector<Tensor> {
        return {engine::dropout(dy, kept_p, kept_key)};
      },
      p, key);
}

}  // namespace headroom::autograd
