#include "engine/ops/kl_divergence/kl_divergence.h"

#include "autograd/ops.h"

namespace headroom::autograd {

Var kl_divergence(const Var& logits, const Tensor& teacher, const Tensor& counted, Reduction reduction) {
  const bool want_gradient = grad_enabled() && logits.requires_grad();
  const auto [loss, dlogits] =
      engine::kl_divergence(logits.value(), teacher, counted, reduction == Reduction::mean, want_gradient);
  return record(
      "kl_divergence", loss, {logits},
      [](const Tensor& dy, const Needs&, const Tensor& kept_dlogits) -> std::vector<Tensor> {
        return {engine::kl_divergence_grad(dy, kept_dlogits)};
      },
      saved("dlogits", dlogits));
}

}  // namespace headroom::autograd
