#pragma once
#include "engine/ops/rows/extremum.h"

namespace headroom::engine {

/// y = max x over `axes` (all if empty), which become size 1 if `keep_axes`, else vanish; NaN wins. The index is the
/// first of equal ones. f32 and f64, on CUDA also bf16. Throws Error if an axis is named twice, or if there is nothing
/// to take the maximum of.
Extremum max(const Tensor& x, const std::vector<int>& axes, bool keep_axes);

/// dx = dy at the maximum, 0 elsewhere; `shape` is x's.
Tensor max_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes);
extern ExtremumOp max_op;
extern ExtremumGradOp max_grad_op;

}  // namespace headroom::engine
