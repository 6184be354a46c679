#pragma once
#include "engine/dispatch/op.h"
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis, where W (out, in) stays in its blocks: x (…, in) f32 or f64, bias (out) or
/// undefined → y (…, out). W's numbers are those of dequantize(), in f32; products and sums are in x's dtype. With
/// Activations::int8 (engine/context.h) an f32 x is rounded to 8 bits first where W's format has integer products. A
/// few rows of x are multiplied by W as it lies, more by some rows of it at a time, unpacked: no more than these lie in
/// memory. On a GPU, which also takes x in bf16, W's numbers are rounded to x's dtype when they are unpacked. Throws
/// Error when the shapes do not fit, or W lies on another device than x.
Tensor quantized_linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias);

/// dx = dy · W. The matrix itself has no gradient.
Tensor quantized_linear_grad(const Tensor& dy, const QuantizedMatrix& weight);

/// Checked calls, as their implementations get them: x (rows, in), dy (rows, out).
struct QuantizedLinearCall {
  Tensor x, bias;
  const QuantizedMatrix& weight;
  Tensor y{};
  auto operands() { return std::array{real("x", x), optional_real("bias", bias)}; }
};
extern Op<QuantizedLinearCall> quantized_linear_op;

struct QuantizedLinearGradCall {
  Tensor dy;
  const QuantizedMatrix& weight;
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy)}; }
};
extern Op<QuantizedLinearGradCall> quantized_linear_grad_op;

/// Whether x should be rounded to 8 bits: numbers of 16 bits, and formats without integer products, are multiplied as
/// they are.
bool takes_int8(const QuantizedLinearCall& call);

}  // namespace headroom::engine
