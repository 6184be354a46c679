#pragma once
#include "engine/ops/rows/row_map.h"

namespace headroom::engine {

/// y = x - max x - log Σ e^(x - max x) along the last axis: x (…, C) → y (…, C). Throws Error if x has no last axis.
Tensor log_softmax(const Tensor& x);

/// dx = dy - e^y · Σ dy, the sum along the last axis.
Tensor log_softmax_grad(const Tensor& dy, const Tensor& y);
extern RowOp log_softmax_op;

/// log Σ e^x of n ≥ 1 numbers, for a vocabulary's logits: e^(x - max x) in f32, within 3 ulp, added in small groups in
/// f32 and then in f64. The reference loops use f64 throughout. NaN if a number is NaN or +inf.
double log_sum_exp(const float* x, int64_t n);

}  // namespace headroom::engine
