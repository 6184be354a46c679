#include "engine/ops/linear/linear.h"

#include "autograd/ops.h"
#include "autograd/product_operand.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"

namespace headroom::autograd {
namespace {

/// (Σ n_i, …) of all; undefined where there are none.
Tensor joined(const std::vector<Var>& leaves) {
  if (leaves.empty()) return Tensor();
  if (const Tensor view = neighbours(leaves); view.defined()) return view;
  std::vector<Tensor> values;
  for (const Var& leaf : leaves) values.push_back(leaf.value());
  return engine::concat(values, 0);
}

}  // namespace

Var linear(const Var& x, const Var& weight, const Var& bias, bool pads_rows) {
  const Tensor x_in = product_operand(x.value()), w_in = product_operand(weight.value());
  return record(
      "linear", engine::linear(x_in, w_in, bias.value(), pads_rows), {x, weight, bias},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_x, const Tensor& kept_w,
         bool has_bias) -> std::vector<Tensor> {
        const Tensor dy_in = product_operand(dy);
        const auto grad = rest_aside(needs, [&](bool x_too, bool rest) {
          return engine::linear_grad(dy_in, kept_x, kept_w, x_too && needs[0], rest && needs[1], rest && needs[2],
                                     has_bias, {needs.place(1), needs.place(2), needs.late_place(2).defined()},
                                     x_too ? needs.take(0) : Tensor());
        });
        return {grad.dx, grad.dweight, grad.dbias};
      },
      saved("x", x_in), saved("weight", w_in), bias.defined());
}

Var joint_linear(const Var& x, const std::vector<Var>& weights, const std::vector<Var>& biases) {
  require(!weights.empty() && (biases.empty() || biases.size() == weights.size()),
          "joint_linear: {} weights and {} biases", weights.size(), biases.size());
  std::vector<Var> operands{x};
  operands.insert(operands.end(), weights.begin(), weights.end());
  operands.insert(operands.end(), biases.begin(), biases.end());
  std::vector<int64_t> rows;
  for (const Var& weight : weights) rows.push_back(weight.dim(0));
  const Tensor x_in = product_operand(x.value()), w_in = product_operand(joined(weights));
  return record(
      "joint_linear", engine::linear(x_in, w_in, joined(biases)), operands,
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_x, const Tensor& kept_w,
         const std::vector<int64_t>& kept_rows, bool has_bias) {
        const size_t layers = kept_rows.size(), biases_at = 1 + layers, end = has_bias ? biases_at + layers : biases_at;
        const auto any = [&](size_t from, size_t to) {
          while (from < to && !needs[from]) ++from;
          return from < to;
        };
        const Tensor dy_in = product_operand(dy);
        const auto grad = rest_aside(needs, [&](bool x_too, bool rest) {
          return engine::linear_grad(dy_in, kept_x, kept_w, x_too && needs[0], rest && any(1, biases_at),
                                     rest && any(biases_at, end), has_bias,
                                     {needs.place(1, layers), needs.place(biases_at, end - biases_at), true},
                                     x_too ? needs.take(0) : Tensor());
        });
        std::vector<Tensor> gradients{grad.dx};
        const auto cut = [&](const Tensor& all) {
          int64_t begin = 0;
          for (const int64_t n : kept_rows) {
            gradients.push_back(needs[gradients.size()] ? all.slice(0, begin, begin + n) : Tensor());
            begin += n;
          }
        };
        cut(grad.dweight);
        if (has_bias) cut(grad.dbias);
        return gradients;
      },
      saved("x", x_in), saved("weight", w_in), rows, !biases.empty());
}

}  // namespace headroom::autograd
