#include "engine/ops/rms_norm/rms_norm.h"

#include "autograd/ops/rms_norm.h"
#include "engine/error.h"
#include "engine/joined_sums.h"

namespace headroom::autograd {

namespace {

/// `of`: the norm of x's value.
Var recorded(const Var& x, const Var& weight, const engine::RmsNorm& of) {
  return record(
      "rms_norm", of.y, {x, weight},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_x, const Tensor& kept_w,
         const Tensor& kept_inv_rms) -> std::vector<Tensor> {
        const auto gradients = [&](bool x_too, bool rest) {  // as layer_norm's
          return engine::rms_norm_grad(dy, kept_x, kept_w, kept_inv_rms, x_too && needs[0], rest && needs[1],
                                       x_too ? needs.take(0) : Tensor(), needs.late_place(1));
        };
        const auto g = engine::joins_gradients() ? gradients(true, true) : rest_aside(needs, gradients);
        return {g.dx, g.dweight};
      },
      saved("x", x), saved("weight", weight), saved("inv_rms", of.inv_rms));
}

}  // namespace

Var rms_norm(const Var& x, const Var& weight, double eps) {
  return recorded(x, weight, engine::rms_norm(x.value(), weight.value(), eps));
}

std::pair<Var, Var> add_rms_norm(const Var& x, const Var& residual, const Var& weight, double eps,
                                 const engine::Dropout& dropout) {
  require(residual.defined(), "rms_norm: operand residual is undefined");
  const engine::RmsNorm of = engine::rms_norm(x.value(), weight.value(), eps, residual.value(), dropout);
  const Var sum = known_sum(of.sum, x, residual, dropout);
  return {sum, recorded(sum, weight, of)};
}

}  // namespace headroom::autograd
