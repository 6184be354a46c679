#pragma once
#include "engine/quantized/quantized_matrix.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis, where W (out, in) stays in its blocks: x (…, in) f32 or f64, bias (out) or
/// undefined → y (…, out). W's numbers are those of dequantize(), in f32; products and sums are in x's dtype. With
/// Activations::int8 (engine/context.h) an f32 x is rounded to 8 bits first where W is in blocks of more than one
/// number. A few rows of x are multiplied by W as it lies, more by some rows of it at a time, unpacked: no more than
/// these lie in memory. Throws Error when the shapes do not fit.
Tensor quantized_linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias);

/// dx = dy · W. The matrix itself has no gradient.
Tensor quantized_linear_grad(const Tensor& dy, const QuantizedMatrix& weight);

}  // namespace headroom::engine
