#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = factor · x, any shape;  dx = factor · dy. The factor is rounded to x's dtype.
Tensor scale(const Tensor& x, double factor);

struct ScaleCall {
  Tensor x;
  double factor;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
extern Op<ScaleCall> scale_op;

}  // namespace headroom::engine
