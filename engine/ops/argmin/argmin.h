#pragma once
#include "engine/ops/rows/extremum.h"

namespace headroom::engine {

/// Where x is smallest over `axes` (all when empty), which become size 1 when `keep_axes`, else vanish → i64: the
/// position among the reduced elements in row-major order, so the index along the axis when there is one. The first of
/// equal ones; the first NaN, if there is one. f32 and f64, on CUDA bf16 as well. Throws Error as min does.
Tensor argmin(const Tensor& x, const std::vector<int>& axes = {}, bool keep_axes = false);
extern ExtremumOp argmin_op;

}  // namespace headroom::engine
