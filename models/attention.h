#pragma once
#include <array>
#include <functional>

#include "engine/ops/attention/attention.h"
#include "models/cache_types.h"
#include "models/key_scales.h"
#include "models/model_cache.h"
#include "models/norm.h"
#include "models/rope_cache.h"
#include "models/weights/projection.h"

namespace headroom::models {

/// What the heads of one group compute with, for measurements of a trained model.
struct AttentionInputs {
  size_t layer = 0, group = 0;
  Tensor x;  ///< (B, T, D): the layer's input, after its norm
  /// (B, T, H, d_qk), (B, T, projected_keys(), d_qk) before the rotary turn; q and k where there is none.
  Tensor raw_q, raw_k;
  Tensor q, k;         ///< as they are multiplied
  Tensor v;            ///< (B, T, H_kv, d_v)
  double scale = 1;    ///< of q·k
  int64_t window = 0;  ///< as AttentionOptions::window

  /// The same with all tensors on a device.
  AttentionInputs to(engine::Device device) const {
    return {layer,        group, x.to(device), raw_q.to(device), raw_k.to(device), q.to(device), k.to(device),
            v.to(device), scale, window};
  }
};
using AttentionObserver = std::function<void(const AttentionInputs&)>;

/// Where a token stands that is decoded without the host: positions i64 (1) and lengths i64 (1) on the device. See
/// engine/decoding/token_state.h.
struct TokenPlace {
  Tensor position, length;
};

/// What attention needs besides its input.
struct AttentionContext {
  Tensor key_mask{};     ///< bool (B, ≥ Tk), of the last Tk keys; undefined = all may be attended
  int64_t offset = 0;    ///< the first token's position
  int64_t length = 0;    ///< of the text, where x does not reach its end
  double dropout = 0.0;  ///< on the probabilities; 0 unless training
  std::vector<engine::RngKey> dropout_keys{};    ///< one per group when dropout > 0
  std::vector<Tensor>* probabilities = nullptr;  ///< gets softmax's (B, H, T, T) of each group; not while training
  const AttentionObserver* observer = nullptr;   ///< called once per group
  size_t layer = 0;                              ///< for the observer
  /// One per group: x's keys and values are appended to what it holds, and all of it that the window shows is attended.
  /// Without gradient.
  std::vector<KeyValueCache>* caches = nullptr;
  /// Keys and values are rounded before they are read, as a cache of these types has them. Without gradient.
  CacheTypes rounded_to{};
  /// Where the one token x stands; instead of `offset`, and only with caches, which then have memory for it.
  const TokenPlace* place = nullptr;
  /// Whose rows x has, and where they are; instead of `offset`, and without a mask. Without gradient.
  const SequenceTokens* sequences = nullptr;
};

/// The heads of one group: projections, positions that act on scores, attention.
class HeadGroupLayer : public Module {
 public:
  /// layer: its index. log_slopes (H): first θ of learnable ALiBi slopes e^θ; undefined = none.
  HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, int64_t layer, const Tensor& log_slopes,
                 RopeCache& rope, const WeightScope& scope);

  /// (B, T, D) → (B, T, heads · v_dim), as group `index` of its layer.
  Var forward(const Var& x, const AttentionContext& context, size_t index) const;
  /// Softmax's (B, heads, T, T), zero where a key is not seen: what forward() weighs values by, without dropout, as one
  /// differentiable tensor. The context's key mask and offset count.
  Var weights(const Var& x, const AttentionContext& context) const;
  std::string describe() const override;
  /// (heads · score_dim, qk_dim) and (kv_heads · score_dim, joined_keys · qk_dim), undefined without score_dim.
  const Var& q_score() const { return q_score_; }
  const Var& k_score() const { return k_score_; }
  /// (heads · qk_dim, D), (projected_keys() · qk_dim, D), (kv_heads · v_dim, D), each with its bias.
  const Projection& q_proj() const { return q_proj_; }
  const Projection& k_proj() const { return k_proj_; }
  const Projection& v_proj() const { return v_proj_; }
  /// Over a head's queries and keys, before they turn; null without qk_norm.
  const NormLayer* q_norm() const { return q_norm_.get(); }
  const NormLayer* k_norm() const { return k_norm_.get(); }

 private:
  /// What scores are made of.
  struct Scored {
    Tensor raw_q, raw_k;  ///< before they turn
    Var q, k;             ///< (B, T, H, key_dim), (B, T, H_kv, key_dim), as they are multiplied
  };
  Scored scored(Var q, Var k, const AttentionContext& context, size_t index) const;
  /// x as queries, keys and values: (B, T, H, d_qk), (B, T, projected_keys(), d_qk), (B, T, H_kv, d_v)
  std::array<Var, 3> projected(const Var& x) const;
  /// x through a projection of `heads` heads: (B, T, D) → (B, T, heads, dim)
  static Var project(const Projection& projection, const Var& x, int64_t heads, int64_t dim);
  /// Appends k and v to what the cache holds, and attends to all of it: (B, T, H, d_v).
  Tensor behind(KeyValueCache& cache, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                const Tensor& key_mask) const;
  /// Those of a cache whose keys are in a format: none but in blocks, with q/k norms and without maps, which even the
  /// two out themselves.
  KeyScales key_scales(std::optional<engine::BlockFormat> format) const;
  /// Each sequence's queries over its own keys: (1, T, H, d_v).
  Tensor by_sequence(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                     const AttentionContext& context, size_t index) const;
  /// softmax(scale · q kᵀ + bias) itself: (B, H, T, T).
  Tensor probabilities(const Var& q, const Var& k, const Var& slopes, const engine::AttentionOptions& options) const;

  HeadGroup group_;
  bool causal_, interleaved_;
  double scale_;    ///< of q·k
  int64_t window_;  ///< 0: none
  Projection q_proj_, k_proj_, v_proj_;
  std::unique_ptr<NormLayer> q_norm_, k_norm_;  ///< over a head's width, with qk_norm
  Var q_score_, k_score_;
  std::shared_ptr<const RopeTurns> turns_;  ///< null without rope
  Var log_slopes_;                          ///< (H) or undefined
};

/// Multi-head self-attention whose heads come in groups of unequal shapes; D/H plays no part.
class Attention : public Module {
 public:
  /// `index`: the layer's.
  Attention(const TransformerConfig& config, const LayerConfig& layer, int64_t index, RopeCache& rope,
            const WeightScope& scope);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x, const AttentionContext& context) const;
  /// The attention weights of all heads, group by group: (B, Σ heads, T, T). See HeadGroupLayer::weights().
  Var weights(const Var& x, const AttentionContext& context) const;
  std::string describe() const override;
  /// The heads of one group. Throws Error when there is no such group.
  const HeadGroupLayer& group(size_t index) const;
  /// (D, Σ heads · v_dim)
  const Projection& o_proj() const { return *o_proj_; }

 private:
  std::vector<std::unique_ptr<HeadGroupLayer>> groups_;
  std::unique_ptr<Projection> o_proj_;  ///< (D, Σ heads · v_dim)
};

}  // namespace headroom::models
