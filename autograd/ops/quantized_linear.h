#pragma once
#include "autograd/var.h"
#include "engine/quantized/quantized_matrix.h"

namespace headroom::autograd {

/// linear() with a frozen matrix (out, in) kept in its blocks; x and bias have gradients.
Var quantized_linear(const Var& x, const engine::QuantizedMatrix& weight, const Var& bias = {});

}  // namespace headroom::autograd
