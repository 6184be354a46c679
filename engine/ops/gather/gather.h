#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y[i, k, j] = x[i, index[i, k, j], j], the index standing on `axis`: x (…, n, …), index (…, m, …) i64 or i32 of x's
/// rank → (…, m, …). Along the other axes the index has x's size or 1, which broadcasts: an index of shape (1, m, 1)
/// picks whole slices. Any dtype. Throws Error naming an index outside [0, n) and its position.
Tensor gather(const Tensor& x, int axis, const Tensor& index);

/// dx: dy's elements added where they were taken from, in the order of their positions along the axis, so that the bits
/// do not depend on the number of threads; `shape` is x's. f32 and f64.
Tensor gather_grad(const Tensor& dy, const Shape& shape, int axis, const Tensor& index);

}  // namespace headroom::engine
