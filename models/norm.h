#pragma once
#include <utility>

#include "models/weights/module.h"
#include "models/weights/source.h"

namespace headroom::models {

/// Layer norm, RMS norm or nothing, over the last axis. Weights start at 1, biases at 0.
class NormLayer : public Module {
 public:
  NormLayer(Norm kind, int64_t width, double eps, const WeightScope& scope);

  /// (…, C) → (…, C)
  Var forward(const Var& x) const;
  /// {x + dropout(residual), its norm}, for x and residual (…, C).
  std::pair<Var, Var> forward(const Var& x, const Var& residual, const engine::Dropout& dropout) const;
  std::string describe() const override;
  /// (C); undefined without a norm.
  const Var& weight() const { return weight_; }

 private:
  Norm kind_;
  int64_t width_;
  double eps_;
  Var weight_, bias_;  ///< (C); bias of layer_norm only
};

}  // namespace headroom::models
