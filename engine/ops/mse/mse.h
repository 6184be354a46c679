#pragma once
#include "engine/dispatch/op.h"

namespace headroom::engine {

/// loss = factor · Σ (prediction - target)²,   factor = 1/n if `mean`, else 1; a mean over none is 0
///
/// prediction (…), target (…) in statistic_dtype() of the prediction → scalar of that dtype: a prediction in bf16 is
/// compared in f32, with no copy of it. Throws Error if the shapes differ.
Tensor mse(const Tensor& prediction, const Tensor& target, bool mean);

/// dprediction = 2 · factor · dy · (prediction - target), of the prediction's shape and dtype; dy a scalar in the
/// loss's dtype.
Tensor mse_grad(const Tensor& dy, const Tensor& prediction, const Tensor& target, bool mean);

inline double mse_factor(const Tensor& prediction, bool mean) {
  const int64_t n = prediction.numel();
  return !mean ? 1.0 : n > 0 ? 1.0 / static_cast<double>(n) : 0.0;
}

/// A checked call, which may be empty. An implementation makes the loss.
struct MseCall {
  Tensor prediction, target;
  bool mean;
  Tensor loss{};  ///< ()
  double factor() const { return mse_factor(prediction, mean); }
  auto operands() { return std::array{real("prediction", prediction), statistic("target", target)}; }
};
/// An implementation makes dprediction.
struct MseGradCall {
  Tensor prediction, target, dy;
  bool mean;
  Tensor dprediction{};  ///< (…)
  double factor() const { return mse_factor(prediction, mean); }
  auto operands() {
    return std::array{real("prediction", prediction), statistic("target", target), statistic("dy", dy)};
  }
};
extern Op<MseCall> mse_op;
extern Op<MseGradCall> mse_grad_op;

/// The same from one op after the other, on any device.
void run_mse_by_parts(MseCall& call);
void run_mse_grad_by_parts(MseGradCall& call);

}  // namespace headroom::engine
