#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

struct RmsNorm {
  Tensor y, inv_rms;
};
/// Root-mean-square normalisation over the last axis (Zhang & Sennrich, 2019).
///
///   y = x · inv_rms · w,   inv_rms = 1/sqrt(mean(x²) + eps)
///
/// x (…, C), w (C) → y (…, C); inv_rms (…) saved for the gradient, in statistic_dtype() of x. Throws Error when C
/// differs or x has no last axis. Reads x once, writes y once; rows whose squares leave the dtype's range once more, in
/// a wider one: right for f32 up to |x| = 10^37.
RmsNorm rms_norm(const Tensor& x, const Tensor& weight, double eps);

struct RmsNormGrad {
  Tensor dx, dweight;
};
/// dx = (g - x̂ · mean(g · x̂)) · inv_rms,   g = dy · w,   x̂ = x · inv_rms;   dw = Σ dy · x̂ over rows, in fixed chunks
/// added in order. What is not wanted stays undefined. Reads dy and x once, writes dx once.
RmsNormGrad rms_norm_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inv_rms, bool want_dx,
                          bool want_weight);

/// A checked call; the results are not empty.
struct RmsNormCall {
  Tensor x, weight;
  double eps;
  Tensor y{}, inv_rms{};
  auto operands() { return std::array{real("x", x), real("weight", weight)}; }
};

/// dx is there when it is wanted; an implementation makes the rest.
struct RmsNormGradCall {
  Tensor dy, x, weight, inv_rms;
  bool want_dx, want_weight;
  Tensor dx{}, dweight{};
  auto operands() {
    return std::array{real("dy", dy), real("x", x), real("weight", weight), statistic("inv_rms", inv_rms)};
  }
};
extern Op<RmsNormCall> rms_norm_op;
extern Op<RmsNormGradCall> rms_norm_grad_op;

}  // namespace headroom::engine
