#pragma once
#include "models/weights/module.h"
#include "models/weights/source.h"

namespace headroom::models {

/// Maps each token to its row of a table.
class Embedding : public Module {
 public:
  /// Creates "weight": (vocab, width), drawn from N(0, std²).
  Embedding(int64_t vocab, int64_t width, double std, const WeightScope& scope);

  /// i64 (…) → (…, C)
  Var forward(const Tensor& tokens) const;
  /// The table as a tied readout: x (…, C) → (…, V).
  Var as_readout(const Var& x) const;
  std::string describe() const override;

 private:
  engine::DType dtype_;
  Weight weight_;  ///< (V, C)
};

}  // namespace headroom::models
