#pragma once
#include "models/linear.h"

namespace headroom::models {

/// down(f(up(x))), or with swiglu down(silu(gate(x)) · up(x)) (Shazeer, "GLU variants improve Transformer", 2020).
class FeedForward : public Module {
 public:
  FeedForward(const TransformerConfig& config, const Initializer& init);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x) const;
  std::string describe() const override;

 private:
  Activation activation_;
  int64_t width_, hidden_;
  std::unique_ptr<Linear> gate_;  ///< swiglu only
  std::unique_ptr<Linear> up_, down_;
};

}  // namespace headroom::models
