#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// y = min(max(x, low), high), NaN kept; a bound may be infinite. Rounds the bounds to x's dtype. f32 and f64, and bf16
/// and f16 computed in f32. Throws Error if low > high or a bound is NaN.
Tensor clamp(const Tensor& x, double low, double high);
/// dx = dy if low ≤ x ≤ high, else 0.
Tensor clamp_grad(const Tensor& dy, const Tensor& x, double low, double high);

struct ClampCall {
  Tensor x;
  double low, high;
  Tensor y{};
  auto operands() { return std::array{real("x", x)}; }
};
struct ClampGradCall {
  Tensor dy, x;
  double low, high;
  Tensor dx{};
  auto operands() { return std::array{real("dy", dy), real("x", x)}; }
};
extern Op<ClampCall> clamp_op;
extern Op<ClampGradCall> clamp_grad_op;

}  // namespace headroom::engine
