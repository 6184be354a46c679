#pragma once
#include "models/initializer.h"

namespace headroom::models {

/// A row of a table per token.
class Embedding : public Module {
 public:
  Embedding(int64_t vocab, int64_t width, const Initializer& init);

  /// i64 (…) → (…, C)
  Var forward(const Tensor& tokens) const;
  /// (V, C), which a tied readout shares.
  const Var& table() const { return weight_; }
  std::string describe() const override;

 private:
  Var weight_;  ///< (V, C)
};

}  // namespace headroom::models
