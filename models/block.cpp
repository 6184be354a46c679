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
  // x (B, T, D) → one residual branch and its norm → (B, T, D)
  const auto residual = [&](const Var& in, const NormLayer& norm, const engine::RngKey& key, const auto& branch) {
    Var y = branch(pre_norm_ ? norm.forward(in) : in);
    if (context.dropout > 0) y = autograd::dropout(y, context.dropout, key);
    return pre_norm_ ? in + y : norm.forward(in + y);
  };
  Var h = residual(x, attention_norm_, context.attention_branch,
                   [&](const Var& in) { return attention_.forward(in, context.attention); });
  if (!ffn_) return h;
  return residual(h, *ffn_norm_, context.ffn_branch, [&](const Var& in) { return ffn_->forward(in); });
}

std::string Block::describe() const {
  return fmt::format("block: {}{}, {}-norm {}", attention_.describe(), ffn_ ? ", " + ffn_->describe() : "",
                     pre_norm_ ? "pre" : "post", attention_norm_.describe());
}

}  // namespace headroom::models
