#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// The gradient of a loss that was made with it, times dy: `gradient` is replaced by the product, or written to.
struct ScaledGradientCall {
  Tensor gradient, dy;  ///< any shape, and one element in the loss's dtype
  auto operands() { return std::array{real("gradient", gradient), statistic("dy", dy)}; }
};

}  // namespace headroom::engine
