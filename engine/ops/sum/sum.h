#pragma once
#include <vector>

#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = Σ x over `axes` (all when empty); they become size 1 when `keep_axes`, else vanish. The order of additions
/// depends on the shape alone, so the bits are the same on any number of threads. A sum over no elements is 0.
Tensor sum(const Tensor& x, std::vector<int> axes, bool keep_axes);

/// A checked sum, as its implementations get it: (outer, reduced, inner) → outer · inner elements. On the CPU y may be
/// f32 where x is bf16.
struct SumCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
  Work work() const { return {.bytes = bytes_of(x) + bytes_of(y)}; }
};
extern Op<SumCall> sum_op;

/// Σ of x over the axes along which `shape` broadcasts to x's: the gradient of expand. Throws Error when it does not.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace headroom::engine
