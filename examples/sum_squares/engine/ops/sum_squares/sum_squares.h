#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = Σ x² over the last axis: x (…, n) → y (…), f32 and f64. Each row is added in an order that depends on n alone.
Tensor sum_squares(const Tensor& x);
/// dx = dy · 2x, (…, n).
Tensor sum_squares_grad(const Tensor& dy, const Tensor& x);

/// The calls, to which a device's kernels add their rows.
struct SumSquaresCall {
  Tensor x;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
struct SumSquaresGradCall {
  Tensor dy, x;
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy), real("x", x)}; }
};
extern Op<SumSquaresCall> sum_squares_op;
extern Op<SumSquaresGradCall> sum_squares_grad_op;

}  // namespace headroom::engine
