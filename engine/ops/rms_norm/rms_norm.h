#pragma once
#include "engine/dispatch/op.h"
#include "engine/ops/dropout/dropout.h"

namespace headroom::engine {

struct RmsNorm {
  Tensor y, inv_rms;
  Tensor sum;  ///< the normalised input: x, or x + what was added
};
/// Root-mean-square normalisation over the last axis (Zhang & Sennrich, 2019).
///
///   y = x · inv_rms · w,   inv_rms = 1/sqrt(mean(x²) + eps)
///
/// x (…, C), w (C) → y (…, C); inv_rms (…) saved for the gradient, in statistic_dtype() of x. Throws Error if C differs
/// or x has no last axis. Reads x once and writes y once; rows whose squares leave the dtype's range are read again in
/// a wider one: right for f32 up to |x| = 10^37. With `added` (…, C) it normalises x + added, or x +
/// dropout(added), which a GPU computes and writes in the same pass.
RmsNorm rms_norm(const Tensor& x, const Tensor& weight, double eps, const Tensor& added = {},
                 const Dropout& dropout = {});

struct RmsNormGrad {
  Tensor dx, dweight;
};
/// dx = (g - x̂ · mean(g · x̂)) · inv_rms,   g = dy · w,   x̂ = x · inv_rms;   dw = Σ dy · x̂ over rows, in fixed
/// chunks added in order. Leaves unwanted results undefined. Reads dy and x once, writes dx once. Adds `added` (…, C),
/// if defined, to dx. On a GPU dw may go to `place`, in statistic_dtype() of x, at the latest by JoinedSums::finish().
RmsNormGrad rms_norm_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inv_rms, bool want_dx,
                          bool want_weight, const Tensor& added = {}, const Tensor& place = {});

/// A checked call; the results are not empty.
struct RmsNormCall {
  Tensor x, weight;
  double eps;
  Tensor added;
  Dropout dropout;               ///< of `added`
  Tensor y{}, inv_rms{}, sum{};  ///< sum is defined only with `added`
  auto operands() { return std::array{real("x", x), real("weight", weight), optional_real("added", added)}; }
};

/// dx is allocated if wanted; an implementation makes the rest, or writes to what is defined already.
struct RmsNormGradCall {
  Tensor dy, x, weight, inv_rms;
  bool want_dx, want_weight;
  Tensor added;
  Tensor dx{}, dweight{};
  auto operands() {
    return std::array{real("dy", dy), real("x", x), real("weight", weight), statistic("inv_rms", inv_rms),
                      optional_real("added", added)};
  }
};
extern Op<RmsNormCall> rms_norm_op;
extern Op<RmsNormGradCall> rms_norm_grad_op;

}  // namespace headroom::engine
