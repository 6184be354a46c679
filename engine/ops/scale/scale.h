#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// y = factor · x, any shape;  dx = factor · dy.
Tensor scale(const Tensor& x, double factor);

}  // namespace headroom::engine
