#pragma once
#include "engine/ops/rows/row_map.h"

namespace headroom::engine {

/// y = e^(x - max x) / Σ e^(x - max x) along the last axis: x (…, C) → y (…, C). -inf gives 0; a row of only -inf gives
/// NaN. Throws Error if x has no last axis.
Tensor softmax(const Tensor& x);

/// dx = y · (dy - Σ dy · y), the sum along the last axis.
Tensor softmax_grad(const Tensor& dy, const Tensor& y);
extern RowOp softmax_op;

}  // namespace headroom::engine
