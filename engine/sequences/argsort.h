#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// The order of x's elements along `axis`: i64 of x's shape, for gather(). Equal elements stay in order; NaN is larger
/// than every number. Any dtype, on the CPU: a tensor of another device is copied there and the result back.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

}  // namespace headroom::engine
