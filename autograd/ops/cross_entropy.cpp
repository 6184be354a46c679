#include "engine/ops/cross_entropy/cross_entropy.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var cross_entropy(const Var& logits, const Tensor& targets, Reduction reduction, int64_t ignore_index) {
  const bool want_gradient = grad_enabled() && logits.requires_grad();
  const auto [loss, dlogits] =
      engine::cross_entropy(logits.value(), targets, reduction == Reduction::mean, ignore_index, want_gradient);
  return record(
      "cross_entropy", loss, {logits},
      [](const Tensor& dy, const Needs&, const Tensor& kept_dlogits) -> std::vector<Tensor> {
        return {engine::cross_entropy_grad(dy, kept_dlogits)};
      },
      saved("dlogits", dlogits));
}

}  // namespace headroom::autograd
