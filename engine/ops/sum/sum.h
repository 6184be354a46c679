#pragma once
#include <vector>

#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = Σ x over `axes` (all if empty); they become size 1 if `keep_axes`, else vanish. The order of additions depends
/// only on the shape, so the bits are the same on any number of threads. An empty sum is 0.
Tensor sum(const Tensor& x, std::vector<int> axes, bool keep_axes);

/// A checked sum for its implementations: (outer, reduced, inner) → outer · inner elements. On the CPU y may be f32 if
/// x is bf16.
struct SumCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
  Work work() const { return {.bytes = bytes_of(x) + bytes_of(y)}; }
};
extern Op<SumCall> sum_op;

/// Σ of x over the axes along which `shape` broadcasts to x's: the gradient of expand. Throws Error if it does not.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace headroom::engine
