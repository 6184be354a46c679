#include "engine/ops/layer_norm/layer_norm.h"

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/joined_sums.h"

namespace headroom::autograd {

namespace {

/// `of`: the norm of x's value.
Var recorded(const Var& x, const Var& weight, const Var& bias, const engine::LayerNorm& of) {
  return record(
      "layer_norm", of.y, {x, weight, bias},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_x, const Tensor& kept_w, const Tensor& kept_mean,
         const Tensor& kept_inv_std) -> std::vector<Tensor> {
        // One kernel makes all of them, and leaves sums that wait: nothing is left for a side stream.
        const auto gradients = [&](bool x_too, bool rest) {
          return engine::layer_norm_grad(dy, kept_x, kept_w, kept_mean, kept_inv_std, x_too && needs[0],
                                         rest && (needs[1] || needs[2]), x_too ? needs.take(0) : Tensor(),
                                         {needs.late_place(1), needs.late_place(2)});
        };
        const auto g = engine::joins_gradients() ? gradients(true, true) : rest_aside(needs, gradients);
        return {g.dx, needs[1] ? g.dweight : Tensor(), needs[2] ? g.dbias : Tensor()};
      },
      saved("x", x), saved("weight", weight), saved("mean", of.mean), saved("inv_std", of.inv_std));
}

}  // namespace

Var layer_norm(const Var& x, const Var& weight, const Var& bias, double eps) {
  return recorded(x, weight, bias, engine::layer_norm(x.value(), weight.value(), bias.value(), eps));
}

std::pair<Var, Var> add_layer_norm(const Var& x, const Var& residual, const Var& weight, const Var& bias, double eps,
                                   const engine::Dropout& dropout) {
  require(residual.defined(), "layer_norm: operand residual is undefined");
  const engine::LayerNorm of =
      engine::layer_norm(x.value(), weight.value(), bias.value(), eps, residual.value(), dropout);
  const Var sum = known_sum(of.sum, x, residual, dropout);
  return {sum, recorded(sum, weight, bias, of)};
}

}  // namespace headroom::autograd
