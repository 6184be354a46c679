#include "models/block.h"

#include <fmt/ranges.h>

#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::models {

Block::Block(const TransformerConfig& config, const LayerConfig& layer, size_t index, RopeCache& rope,
             const WeightScope& scope)
    : place_(config.norm_place) {
  const auto norm = [&](const std::string& name) {
    return make_child<NormLayer>(scope, name, config.norm, config.width, config.norm_eps);
  };
  const bool is_both = config.norm_place == NormPlace::both;
  if (!layer.groups.empty()) {
    attention_norm_ = norm("attention_norm");
    attention_ = make_child<Attention>(scope, "attention", config, layer, index, rope);
    if (is_both) attention_out_norm_ = norm("attention_out_norm");
  }
  if (layer.ffn_width == 0) return;
  ffn_norm_ = norm("ffn_norm");
  ffn_ = make_child<FeedForward>(scope, "ffn", config, layer.ffn_width);
  if (is_both) ffn_out_norm_ = norm("ffn_out_norm");
}

Var Block::forward(const Var& x, const BlockContext& context) const {
  const engine::Dropout of_attention{context.dropout, context.attention_branch},
      of_ffn{context.dropout, context.ffn_branch};
  const auto normed_by = [](const auto& norm, const Var& y) { return norm ? norm->forward(y) : y; };
  const auto fed = [&](const Var& in) { return normed_by(ffn_out_norm_, ffn_->forward(in)); };  // (B, T, D)
  const bool pre_norm = place_ != NormPlace::post;
  if (!attention_) {
    if (!ffn_) return x;
    return pre_norm ? autograd::add_dropped(x, fed(ffn_norm_->forward(x)), of_ffn)
                    : ffn_norm_->forward(x, fed(x), of_ffn).second;
  }
  const Var attended = attention_->forward(pre_norm ? attention_norm_->forward(x) : x, context.attention);
  const Var y = normed_by(attention_out_norm_, attended);  // (B, T, D)
  if (pre_norm) {
    if (!ffn_) return autograd::add_dropped(x, y, of_attention);
    const auto [h, normed] = ffn_norm_->forward(x, y, of_attention);
    return autograd::add_dropped(h, fed(normed), of_ffn);
  }
  const Var h = attention_norm_->forward(x, y, of_attention).second;
  return ffn_ ? ffn_norm_->forward(h, fed(h), of_ffn).second : h;
}

std::string Block::describe() const {
  std::vector<std::string> parts;
  if (attention_) parts.push_back(attention_->describe());
  if (ffn_) parts.push_back(ffn_->describe());
  if (parts.empty()) return "block: nothing";
  const char* place = place_ == NormPlace::both ? "pre- and post" : place_ == NormPlace::pre ? "pre" : "post";
  return fmt::format("block: {}, {}-norm {}", fmt::join(parts, ", "), place,
                     (attention_ ? attention_norm_ : ffn_norm_)->describe());
}

}  // namespace headroom::models
