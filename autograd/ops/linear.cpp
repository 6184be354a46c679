#include "engine/ops/linear/linear.h"

#include "autograd/ops.h"
#include "autograd/product_operand.h"

namespace headroom::autograd {

Var linear(const Var& x, const Var& weight, const Var& bias, bool pads_rows) {
  const Tensor x_in = product_operand(x.value()), w_in = product_operand(weight.value());
  return record(
      "linear", engine::linear(x_in, w_in, bias.value(), pads_rows), {x, weight, bias},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_x, const Tensor& kept_w,
         bool has_bias) -> std::vector<Tensor> {
        const auto grad = engine::linear_grad(product_operand(dy), kept_x, kept_w, needs[0], needs[1], needs[2],
                                              has_bias, {needs.place(1), needs.place(2)}, needs.take(0));
        return {grad.dx, grad.dweight, grad.dbias};
      },
      saved("x", x_in), saved("weight", w_in), bias.defined());
}

}  // namespace headroom::autograd
