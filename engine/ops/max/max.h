#pragma once
#include <vector>

#include "engine/tensor.h"

namespace headroom::engine {

struct Max {
  Tensor y, index;
};
/// y = max x over `axes` (all when empty), which become size 1 when `keep_axes`, else vanish; NaN wins. `index` (i64,
/// y's elements in order) says which of the reduced elements it was, the first of equal ones, counted in row-major
/// order. Throws Error when an axis is named twice, or when there is nothing to take the maximum of.
Max max(const Tensor& x, const std::vector<int>& axes, bool keep_axes);

/// dx = dy where x was the maximum, 0 elsewhere; `shape` is x's.
Tensor max_grad(const Tensor& dy, const Tensor& index, const Shape& shape, const std::vector<int>& axes);

}  // namespace headroom::engine
