#pragma once
#include "engine/dispatch/op.h"
#include "engine/quantized/quantized_matrix.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis, with W (out, in) kept in its blocks: x (…, in) f32 or f64, bias (out) or
/// undefined → y (…, out). W's numbers are those of dequantize(), in f32; products and sums are in x's dtype. With
/// Activations::int8 (engine/context.h), rounds an f32 x to 8 bits first if W's format has integer products. Multiplies
/// a few rows of x by W in place, and more by some unpacked rows of it at a time, the only ones in memory. On a GPU,
/// which also takes bf16 x, unpacked numbers are rounded to x's dtype. Throws Error if the shapes do not fit, or W and
/// x are on different devices.
Tensor quantized_linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias);

/// dx = dy · W. The matrix itself has no gradient.
Tensor quantized_linear_grad(const Tensor& dy, const QuantizedMatrix& weight);

/// Checked calls for their implementations: x (rows, in), dy (rows, out).
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

/// True if x should be rounded to 8 bits: not for 16-bit numbers and formats without integer products.
bool takes_int8(const QuantizedLinearCall& call);

}  // namespace headroom::engine
