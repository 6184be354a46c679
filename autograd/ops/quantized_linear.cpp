#include "engine/ops/quantized_linear/quantized_linear.h"

#include "autograd/ops.h"
#include "engine/ops/sum/sum.h"

namespace headroom::autograd {

namespace {

/// The product; exact where it will be differentiated, since the gradient is that of the exact one.
Tensor value_of(const Var& x, const engine::QuantizedMatrix& weight, const Var& bias) {
  const bool is_differentiated = grad_enabled() && (x.requires_grad() || bias.requires_grad());
  const engine::ActivationsScope scope(is_differentiated ? engine::Activations::exact : engine::context().activations);
  return engine::quantized_linear(x.value(), weight, bias.value());
}

}  // namespace

Var quantized_linear(const Var& x, const engine::QuantizedMatrix& weight, const Var& bias) {
  return record(
      "quantized_linear", value_of(x, weight, bias), {x, bias},
      [](const Tensor& dy, const Needs& needs, const Tensor& kept_blocks, engine::BlockFormat kept_format,
         int64_t kept_rows, int64_t kept_cols) -> std::vector<Tensor> {
        std::vector<Tensor> out(2);
        if (needs[0]) out[0] = engine::quantized_linear_grad(dy, {kept_format, kept_rows, kept_cols, kept_blocks});
        if (needs[1])  // (out): rows summed in an order fixed by the shape
          out[1] = engine::sum(dy.reshape({dy.shape().numel(0, dy.rank() - 1), dy.dim(-1)}), {0}, false);
        return out;
      },
      saved("weight", weight.blocks()), weight.format(), weight.rows(), weight.cols());
}

}  // namespace headroom::autograd
