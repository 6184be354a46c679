#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = x - max x - log Σ e^(x - max x) along the last axis: x (…, C) → y (…, C). Throws Error when x has no last axis.
Tensor log_softmax(const Tensor& x);

/// dx = dy - e^y · Σ dy, the sum along the last axis.
Tensor log_softmax_grad(const Tensor& dy, const Tensor& y);

}  // namespace headroom::engine
