#include "models/block.h"

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

Block::Block(const TransformerConfig& config, const LayerConfig& layer, RopeCache& rope, const WeightScope& scope)
    : pre_norm_(config.norm_place == NormPlace::pre),
      attention_norm_(config.norm, config.width, config.norm_eps, scope.at("attention_norm")),
      attention_(config, layer, rope, scope.at("attention")) {
  add_child("attention_norm", attention_norm_);
  add_child("attention", attention_);
  if (layer.ffn_width == 0) return;
  ffn_norm_ = std::make_unique<NormLayer>(config.norm, config.width, config.norm_eps, scope.at("ffn_norm"));
  add_child("ffn_norm", *ffn_norm_);
  ffn_ = std::make_unique<FeedForward>(config, layer.ffn_width, scope.at("ffn"));
  add_child("ffn", *ffn_);
}

Var Block::forward(const Var& x, const BlockContext& context) const {
  const auto dropped = [&](const Var& y, const engine::RngKey& key) {
    return context.dropout > 0 ? autograd::dropout(y, context.dropout, key) : y;
  };
  const auto fed = [&](const Var& in) { return dropped(ffn_->forward(in), context.ffn_branch); };  // (B, T, D)
  const Var y = dropped(attention_.forward(pre_norm_ ? attention_norm_.forward(x) : x, context.attention),
                        context.attention_branch);  // (B, T, D)
  if (pre_norm_) {
    if (!ffn_) return x + y;
    const auto [h, normed] = ffn_norm_->forward(x, y);
    return h + fed(normed);
  }
  const Var h = attention_norm_.forward(x, y).second;
  return ffn_ ? ffn_norm_->forward(h, fed(h)).second : h;
}

std::string Block::describe() const {
  return fmt::format("block: {}{}, {}-norm {}", attention_.describe(), ffn_ ? ", " + ffn_->describe() : "",
                     pre_norm_ ? "pre" : "post", attention_norm_.describe());
}

}  // namespace headroom::models
