#pragma once
#include "models/attention.h"
#include "models/feed_forward.h"
#include "models/norm.h"

namespace headroom::models {

/// A block's inputs besides x. It holds all randomness, so that checkpointing can rerun the block.
struct BlockContext {
  AttentionContext attention{};
  double dropout = 0.0;  ///< on each residual branch; 0 unless training
  engine::RngKey attention_branch{}, ffn_branch{};
};

/// One layer. Pre-norm: x += attention(norm(x)); x += ffn(norm(x)). Post-norm: x = norm(x + attention(x)), and so on.
/// Both: x += norm(attention(norm(x))), and so on, each with its own norm. A missing branch adds nothing and has no
/// norm.
class Block : public Module {
 public:
  /// The layer of that index.
  Block(const TransformerConfig& config, const LayerConfig& layer, size_t index, RopeCache& rope,
        const WeightScope& scope);

  /// (B, T, D) → (B, T, D)
  Var forward(const Var& x, const BlockContext& context) const;
  std::string describe() const override;
  /// Null in a layer without heads.
  const Attention* attention() const { return attention_.get(); }

 private:
  NormPlace place_;
  std::unique_ptr<NormLayer> attention_norm_, ffn_norm_;          ///< with attention_, with ffn_
  std::unique_ptr<NormLayer> attention_out_norm_, ffn_out_norm_;  ///< of NormPlace::both
  std::unique_ptr<Attention> attention_;                          ///< absent when the layer has no heads
  std::unique_ptr<FeedForward> ffn_;                              ///< absent when the layer's ffn_width is 0
};

}  // namespace headroom::models
