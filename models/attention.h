#pragma once
#include <array>

#include "models/keys_and_values.h"
#include "models/norm.h"
#include "models/weights/projection.h"

namespace headroom::models {

/// What attention needs besides its input.
struct AttentionContext {
  KeysAndValues keys;
  double dropout = 0.0;                        ///< on the probabilities; 0 unless training
  std::vector<engine::RngKey> dropout_keys{};  ///< one per group when dropout > 0
};

/// The heads of one group: projections, positions that act on scores, attention.
class HeadGroupLayer : public Module {
 public:
  /// Group `index` of a layer. log_slopes (H): first θ of learnable ALiBi slopes e^θ; undefined = none.
  HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, size_t layer, size_t index,
                 const Tensor& log_slopes, RopeCache& rope, const WeightScope& scope);

  /// (B, T, D) → (B, T, heads · v_dim)
  Var forward(const Var& x, const AttentionContext& context) const;
  /// Softmax's (B, heads, T, T) of a text, zero where a key is not seen: what forward() weighs values by, without
  /// dropout, as one differentiable tensor. key_mask bool (B, T) or undefined.
  Var weights(const Var& x, const Tensor& key_mask) const;
  std::string describe() const override;
  /// (heads · qk_dim, D), (projected_keys() · qk_dim, D), (kv_heads · v_dim, D), each with its bias.
  const Projection& q_proj() const { return q_proj_; }
  const Projection& k_proj() const { return k_proj_; }
  const Projection& v_proj() const { return v_proj_; }
  /// Over a head's queries and keys, before they turn; null without qk_norm.
  const NormLayer* q_norm() const { return q_norm_.get(); }
  const NormLayer* k_norm() const { return k_norm_.get(); }
  const HeadGroup& shape() const { return group_; }
  /// The scales of a cache whose keys are in a format. Undefined unless keys are in blocks, with q/k norms and without
  /// score maps, which even queries and keys out themselves.
  KeyScales key_scales(std::optional<engine::BlockFormat> format) const;

 private:
  /// Normed, turned and mapped queries and keys, before any values.
  AttentionInputs scored(Var q, Var k, const KeysAndValues& keys) const;
  /// x as queries, keys and values: (B, T, H, d_qk), (B, T, projected_keys(), d_qk), (B, T, H_kv, d_v)
  std::array<Var, 3> projected(const Var& x) const;
  /// x through a projection of `heads` heads: (B, T, D) → (B, T, heads, dim)
  static Var project(const Projection& projection, const Var& x, int64_t heads, int64_t dim);

  HeadGroup group_;
  size_t layer_, index_;  ///< the layer's number, and the group's in it
  bool causal_, interleaved_;
  bool is_joint_;   ///< q, k and v are one product if their weights allow it
  double scale_;    ///< of q·k
  int64_t window_;  ///< 0: none
  Projection q_proj_, k_proj_, v_proj_;
  std::unique_ptr<NormLayer> q_norm_, k_norm_;  ///< over a head's width, with qk_norm
  Var q_score_, k_score_;  ///< (heads · score_dim, qk_dim), (kv_heads · score_dim, joined_keys · qk_dim), or undefined
  std::shared_ptr<const RopeTurns> turns_;  ///< null without rope
  Var log_slopes_;                          ///< (H) or undefined
};

/// Multi-head self-attention whose heads come in groups of unequal shapes; D/H plays no part.
class Attention : public Module {
 public:
  /// `index`: the layer's.
  Attention(const TransformerConfig& config, const LayerConfig& layer, size_t index, RopeCache& rope,
            const WeightScope& scope);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x, const AttentionContext& context) const;
  /// The attention weights of all heads, group by group: (B, Σ heads, T, T). See HeadGroupLayer::weights().
  Var weights(const Var& x, const Tensor& key_mask) const;
  std::string describe() const override;
  /// The heads of one group. Throws Error when there is no such group.
  const HeadGroupLayer& group(size_t index) const;

 private:
  std::vector<std::unique_ptr<HeadGroupLayer>> groups_;
  std::unique_ptr<Projection> o_proj_;  ///< (D, Σ heads · v_dim)
};

}  // namespace headroom::models
