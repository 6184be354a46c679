#pragma once
#include <cstdint>

#include "tasks/theory/allocation.h"

namespace headroom::tasks {

/// Unit roundoffs of the formats that a forward pass computes in.
inline constexpr double f32_roundoff = 0x1p-24, bf16_roundoff = 0x1p-8;

/// What replaces 1.3 e^{0.02m}/H where numbers have unit roundoff `epsilon`: projection_error + best_float_fit(), the
/// best that H heads with Chebyshev nodes reach. Exactly 1 for H <= lag (the law that replaces Lemma E.1: a theorem);
/// above it a worst-case guess of rounding, ε times the size of the value weights. Lags 1..`lags` are computed once, up
/// to the first that no number of heads can fetch: no farther lag can be (shift a fit by one step).
GroupError float_error(int64_t token_dim, int64_t lags, double epsilon);

}  // namespace headroom::tasks
