#include "engine/ops/dropout/dropout.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/joined_sums.h"

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

Var known_sum(const Tensor& sum, const Var& x, const Var& y, const engine::Dropout& dropout) {
  const Var out = record(
      "add", sum, {x, y},
      [](const Tensor& dy, const Needs& needs, const engine::Dropout& kept) -> std::vector<Tensor> {
        if (kept.p == 0 || !needs[1]) return {dy, dy};
        const Tensor known = engine::JoinedSums::take_dropped(dy);
        return {dy, known.defined() ? known : engine::dropout(dy, kept.p, kept.key)};
      },
      dropout);
  out.drops(dropout);
  return out;
}

Var add_dropped(const Var& x, const Var& y, const engine::Dropout& dropout) {
  if (dropout.p == 0) return x + y;
  require(x.defined() && y.defined(), "add_dropped: an operand is undefined");
  return known_sum(engine::dropout(y.value(), dropout.p, dropout.key, x.value()), x, y, dropout);
}

}  // namespace headroom::autograd
