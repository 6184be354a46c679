#pragma once
#include "engine/ops/rows/extremum.h"

namespace headroom::engine {

/// y = min x over `axes` (all if empty), which become size 1 if `keep_axes`, else vanish; NaN wins. The index is the
/// first of equal ones. f32 and f64, on CUDA also bf16. Throws Error if an axis is named twice, or if there is nothing
/// to take the minimum of.
Extremum min(const Tensor& x, const std::vector<int>& axes, bool keep_axes);

/// dx = dy at the minimum, 0 elsewhere; `shape` is x's.
Tensor min_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes);
extern ExtremumOp min_op;
extern ExtremumGradOp min_grad_op;

}  // namespace headroom::engine
