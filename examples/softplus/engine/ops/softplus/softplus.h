#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = log(1 + e^x), any shape; f32 and f64, and bf16 and f16 computed in f32. Throws Error for other dtypes.
Tensor softplus(const Tensor& x);
/// dx = dy · 1 / (1 + e^-x).
Tensor softplus_grad(const Tensor& dy, const Tensor& x);

}  // namespace headroom::engine
