#pragma once
#include "engine/ops/binary_list.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// NAME(a, b): shapes broadcast as in NumPy, f32 or f64. Throws Error naming the op and both shapes when they do not.
#define HEADROOM_DECLARE(NAME, FUNCTOR) Tensor NAME(const Tensor& a, const Tensor& b);
HEADROOM_BINARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

/// y += x, same shape, both contiguous. For gradient accumulation.
void add_inplace(const Tensor& y, const Tensor& x);

}  // namespace headroom::engine
