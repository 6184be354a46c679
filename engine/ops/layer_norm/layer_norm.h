#pragma once
#include "engine/dispatch/op.h"
#include "engine/ops/dropout/dropout.h"

namespace headroom::engine {

struct LayerNorm {
  Tensor y, mean, inv_std;
  Tensor sum;  ///< the normalised input: x, or x + what was added
};
/// Layer normalisation over the last axis (Ba, Kiros & Hinton, 2016).
///
///   y = x̂ · w + b,   x̂ = (x - mean(x)) · inv_std,   inv_std = 1/sqrt(var(x) + eps),   var the mean square deviation
///
/// x (…, C), w (C), b (C) or undefined → y (…, C); mean (…), inv_std (…) saved for the gradient, in statistic_dtype()
/// of x. Throws Error if C differs or x has no last axis. Reads x once and writes y once; rows whose squares leave the
/// dtype's range are read again in a wider one: right for f32 up to |x| = 10^37. With `added` (…, C) it normalises x +
/// added, or x + dropout(added), which a GPU computes and writes in the same pass.
LayerNorm layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, const Tensor& added = {},
                     const Dropout& dropout = {});

struct LayerNormPlaces {
  Tensor dweight, dbias;
};
struct LayerNormGrad {
  Tensor dx, dweight, dbias;
};
/// dx = (g - mean(g) - x̂ · mean(g · x̂)) · inv_std,   g = dy · w;   dw = Σ dy · x̂,   db = Σ dy over rows, in fixed
/// chunks added in order. Leaves unwanted results undefined. Reads dy and x once, writes dx once. Adds `added` (…, C),
/// if defined, to dx. On a GPU dw and db may go to `places`, in statistic_dtype() of x, at the latest by
/// JoinedSums::finish().
LayerNormGrad layer_norm_grad(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& mean,
                              const Tensor& inv_std, bool want_dx, bool want_parameters, const Tensor& added = {},
                              const LayerNormPlaces& places = {});

/// A checked call; the results are not empty.
struct LayerNormCall {
  Tensor x, weight, bias;
  double eps;
  Tensor added;
  Dropout dropout;                       ///< of `added`
  Tensor y{}, mean{}, inv_std{}, sum{};  ///< sum is defined only with `added`
  auto operands() {
    return std::array{real("x", x), real("weight", weight), optional_real("bias", bias), optional_real("added", added)};
  }
};

/// dx is allocated if wanted; an implementation makes the rest, or writes to what is defined already.
struct LayerNormGradCall {
  Tensor dy, x, weight, mean, inv_std;
  bool want_dx, want_parameters;
  Tensor added;
  Tensor dx{}, dweight{}, dbias{};
  auto operands() {
    return std::array{real("dy", dy),
                      real("x", x),
                      real("weight", weight),
                      statistic("mean", mean),
                      statistic("inv_std", inv_std),
                      optional_real("added", added)};
  }
};
extern Op<LayerNormCall> layer_norm_op;
extern Op<LayerNormGradCall> layer_norm_grad_op;

}  // namespace headroom::engine
