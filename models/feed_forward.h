#pragma once
#include "models/weights/projection.h"

namespace headroom::models {

/// down(f(up(x))), or gated down(silu(gate(x)) · up(x)) with swiglu, down(gelu_tanh(gate(x)) · up(x)) with geglu
/// (Shazeer, "GLU variants improve Transformer", 2020).
class FeedForward : public Module {
 public:
  /// `hidden` wide.
  FeedForward(const TransformerConfig& config, int64_t hidden, const WeightScope& scope);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x) const;
  std::string describe() const override;

 private:
  Activation activation_;
  int64_t width_, hidden_;
  bool pads_rows_;                    ///< of hidden values, on a GPU: swiglu() takes them with their gaps
  std::unique_ptr<Projection> gate_;  ///< only if gated
  std::unique_ptr<Projection> up_, down_;
};

}  // namespace headroom::models
