#pragma once
#include "engine/ops/rows/extremum.h"

namespace headroom::engine {

/// The position of the largest x over `axes` (all if empty) → i64; these become size 1 if `keep_axes`, else vanish. It
/// counts the reduced elements in row-major order, so with one axis it is the index along it. The first of equal ones;
/// the first NaN, if any. f32 and f64, on CUDA also bf16. Throws Error as max does.
Tensor argmax(const Tensor& x, const std::vector<int>& axes = {}, bool keep_axes = false);
extern ExtremumOp argmax_op;

}  // namespace headroom::engine
