#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Views: forward moves no data, unless reshape() must; backward only what it must. One axis of reshape may be -1.
Var reshape(const Var& x, const Shape& shape);
Var permute(const Var& x, const std::vector<int>& axes);
Var transpose(const Var& x, int axis_a, int axis_b);
/// Every `step`th element of [begin, end) of one axis; bounds below 0 count from its end.
Var slice(const Var& x, int axis, int64_t begin, int64_t end = Tensor::to_end, int64_t step = 1);
/// Element i of one axis, which vanishes: (…, n, …) → (…, …). i below 0 counts from its end.
Var select(const Var& x, int axis, int64_t i);
/// Removes an axis of size 1, or adds one at `axis` of the result (-1: the last).
Var squeeze(const Var& x, int axis);
Var unsqueeze(const Var& x, int axis);
/// Broadcasts axes of size 1 (and missing leading ones).
Var expand(const Var& x, const Shape& shape);

}  // namespace headroom::autograd
