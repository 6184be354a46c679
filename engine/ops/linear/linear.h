#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = x · Wᵀ + bias over the last axis: x (…, in), weight (out, in), bias (out) or undefined → y (…, out). The bias is
/// added to each tile of the product while it is in the cache. Throws Error when the shapes do not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

struct LinearGrad {
  Tensor dx, dweight, dbias;  ///< undefined where not asked for
};

/// dx = dy · W,   dW = dyᵀ · x,   dbias = Σ_rows dy; the sums over rows are in an order fixed by the shape.
LinearGrad linear_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, bool need_x, bool need_weight,
                       bool need_bias);

}  // namespace headroom::engine
