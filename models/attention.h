#pragma once
#include "engine/ops/attention/attention.h"
#include "models/attention_state.h"
#include "models/norm.h"
#include "models/rope_cache.h"
#include "models/weights/projection.h"

namespace headroom::models {

/// What attention needs beside its input.
struct AttentionContext {
  Tensor key_mask{};                             ///< bool (B, Tk), true = may be attended; undefined = all
  int64_t offset = 0;                            ///< the first token's position
  double dropout = 0.0;                          ///< on the probabilities; 0 unless training
  std::vector<engine::RngKey> dropout_keys{};    ///< one per group when dropout > 0
  std::vector<Tensor>* probabilities = nullptr;  ///< gets softmax's (B, H, T, T) of each group; not while training
  /// One per group: x's keys and values are appended to what it holds, and all of it is attended. Without gradient.
  std::vector<AttentionState>* states = nullptr;
};

/// The heads of one group: projections, positions that act on scores, attention.
class HeadGroupLayer : public Module {
 public:
  /// log_slopes (H): first θ of learnable ALiBi slopes e^θ; undefined = none.
  HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, const Tensor& log_slopes, RopeCache& rope,
                 const WeightScope& scope);

  /// (B, T, D) → (B, T, heads · v_dim), as group `index` of its layer.
  Var forward(const Var& x, const AttentionContext& context, size_t index) const;
  std::string describe() const override;

 private:
  /// softmax(scale · q kᵀ + bias) itself: (B, H, T, T).
  Tensor probabilities(const Var& q, const Var& k, const Var& slopes, const engine::AttentionOptions& options) const;

  HeadGroup group_;
  bool causal_;
  std::optional<double> logit_scale_;
  Projection q_proj_, k_proj_, v_proj_;
  std::unique_ptr<NormLayer> q_norm_, k_norm_;  ///< over a head's width, with qk_norm
  std::shared_ptr<const RopeTurns> turns_;      ///< null without rope
  Var log_slopes_;                              ///< (H) or undefined
};

/// Multi-head self-attention whose heads come in groups of unequal shapes; D/H plays no part.
class Attention : public Module {
 public:
  Attention(const TransformerConfig& config, const LayerConfig& layer, RopeCache& rope, const WeightScope& scope);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x, const AttentionContext& context) const;
  std::string describe() const override;

 private:
  std::vector<std::unique_ptr<HeadGroupLayer>> groups_;
  std::unique_ptr<Projection> o_proj_;  ///< (D, Σ heads · v_dim)
};

}  // namespace headroom::models
