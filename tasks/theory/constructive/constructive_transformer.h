#pragma once
#include <cstdint>

#include "models/safetensors/safetensors.h"
#include "models/transformer.h"
#include "tasks/theory/constructive/construction.h"

namespace headroom::tasks {

/// A plan's architecture for sequences of `length`: one layer without norms, one group of heads per group of the plan
/// (a single one if shared) with ALiBi slopes, a ReLU or GELU network of width 2d, a linear readout.
models::TransformerConfig constructive_config(const ConstructionPlan& plan, int64_t length,
                                              models::Activation activation = models::Activation::relu);

/// Its weights in f64, under the Transformer's parameter names (paper, proof of Theorem 1):
///   W_E = [I; 0];  W_Q = W_K = 0;  slope_h = −ln x_h;  W_V^h = α_h/(1 − x_h)·[P_m 0] (shared: [I 0]/(1 − x_h));
///   W_O adds the heads of group m into its rows (shared: with weights α);
///   FFN(u) = act(Gu) − act(−Gu) = Gu, G = [ρ_0 − Σ leak_m ρ_m P_mᵀP_m − I, ρ_1 P_1ᵀ, ρ_2 P_2ᵀ, …], into the token's
///   rows,
/// where −I cancels the residual stream; the readout copies these rows.
models::NamedTensors constructive_weights(const ConstructionPlan& plan);

/// A plan's weights in the Transformer used for training.
class ConstructiveTransformer {
 public:
  /// For sequences of up to `length` tokens; parameters f32 or f64.
  ConstructiveTransformer(const ConstructionPlan& plan, int64_t length, engine::DType dtype,
                          models::Activation activation = models::Activation::relu);

  /// (B, L, d) → (B, L, d), both of the parameters' dtype. Adds the zero tokens in front and drops their outputs; looks
  /// ahead by looking back on the reversed sequence.
  engine::Tensor forward(const engine::Tensor& x) const;
  const models::Transformer& model() const { return model_; }

 private:
  int64_t zeros_;
  bool looks_back_;
  models::Transformer model_;
};

/// Tokens uniform on the unit sphere: (sequences, length, d) from the stream "inputs" of `seed`.
engine::Tensor unit_tokens(int64_t sequences, int64_t length, int64_t token_dim, uint64_t seed, engine::DType dtype);

/// The error of a construction.
struct MeasuredError {
  double sup = 0;       ///< max over tokens of ‖y_t − ŷ_t‖₂
  double late_sup = 0;  ///< the same over tokens preceded by all lags
  double mean_square = 0;
  void add(const MeasuredError& other, int64_t before, int64_t more);
};

/// The error on x (B, L, d), y_t = Σ ρ_m x_{t−m} in f64. Throws Error if an output is not finite.
MeasuredError measure_error(const ConstructionPlan& plan, const ConstructiveTransformer& model,
                            const engine::Tensor& x);

/// The error over `sequences` of unit_tokens(), in batches.
MeasuredError random_error(const ConstructionPlan& plan, int64_t sequences, int64_t length, uint64_t seed,
                           engine::DType dtype, models::Activation activation = models::Activation::relu);

}  // namespace headroom::tasks
