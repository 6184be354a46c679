#include "models/attention.h"

#include "autograd/ops.h"
#include "models/positions.h"

namespace headroom::models {

HeadGroupLayer::HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, const Tensor& log_slopes,
                               const Initializer& init)
    : group_(group),
      causal_(config.causal),
      logit_scale_(config.logit_scale),
      q_proj_(config.width, group.heads * group.qk_dim, config.attention_bias, init),
      k_proj_(config.width, group.key_value_heads() * group.qk_dim, config.attention_bias, init),
      v_proj_(config.width, group.key_value_heads() * group.v_dim, config.attention_bias, init) {
  if (config.positions == Positions::rope) rope_base_ = config.rope_base;
  add_child("q_proj", q_proj_);
  add_child("k_proj", k_proj_);
  add_child("v_proj", v_proj_);
  if (log_slopes.defined()) log_slopes_ = add_parameter("log_slopes", log_slopes, false);
}

Var HeadGroupLayer::forward(const Var& x, const AttentionContext& context, const engine::RngKey& dropout_key) const {
  const int64_t batch = x.dim(0), length = x.dim(1);
  const auto project = [&](const Linear& linear, int64_t heads, int64_t dim) {
    return autograd::reshape(linear.forward(x), {batch, length, heads, dim});  // (B, T, H, D)
  };
  Var q = project(q_proj_, group_.heads, group_.qk_dim);                   // (B, T, H, d_qk)
  Var k = project(k_proj_, group_.key_value_heads(), group_.qk_dim);       // (B, T, H_kv, d_qk)
  const Var v = project(v_proj_, group_.key_value_heads(), group_.v_dim);  // (B, T, H_kv, d_v)
  return located([&] {
    if (rope_base_) {
      q = autograd::rope(q, context.positions, *rope_base_);
      k = autograd::rope(k, context.positions, *rope_base_);
    }
    const Var slopes = log_slopes_.defined() ? autograd::exp(log_slopes_) : Var();  // (H)
    engine::AttentionOptions options{.causal = causal_, .scale = logit_scale_, .key_mask = context.key_mask};
    if (context.probabilities) context.probabilities->push_back(probabilities(q, k, slopes, options));
    options.dropout = context.dropout;
    options.dropout_key = dropout_key;
    const Var y = autograd::attention(q, k, v, slopes, options);  // (B, T, H, d_v)
    return autograd::reshape(y, {batch, length, group_.heads * group_.v_dim});
  });
}

Tensor HeadGroupLayer::probabilities(const Var& q, const Var& k, const Var& slopes,
                                     const engine::AttentionOptions& options) const {
  const int64_t batch = q.dim(0), length = q.dim(1), kv_heads = group_.key_value_heads();
  // Values that are the unit vectors of the positions: their weighted sum is the weights.
  const Tensor eye = Tensor::zeros({1, length, 1, length});  // (1, T, 1, T)
  for (int64_t t = 0; t < length; ++t) eye.mutable_data<float>()[t * length + t] = 1;
  const Var unit(eye.to(q.value().dtype()).expand({batch, length, kv_heads, length}).contiguous());  // (B, T, H_kv, T)
  const autograd::NoGrad no_grad;
  return autograd::attention(q, k, unit, slopes, options).value().permute({0, 2, 1, 3}).contiguous();  // (B, H, T, T)
}

std::string HeadGroupLayer::describe() const {
  const int64_t kv_heads = group_.key_value_heads();
  return fmt::format("{} x (qk {}, v {}{})", group_.heads, group_.qk_dim, group_.v_dim,
                     kv_heads == group_.heads ? "" : fmt::format(", {} key-value", kv_heads));
}

Attention::Attention(const TransformerConfig& config, const Initializer& init) {
  std::vector<Tensor> slopes(config.groups.size());
  if (config.positions == Positions::alibi)
    slopes = alibi_log_slopes(config.groups, config.alibi_slope_first, config.alibi_slope_last, init.dtype());
  int64_t values = 0;
  for (size_t i = 0; i < config.groups.size(); ++i) {
    const HeadGroup& group = config.groups[i];
    groups_.push_back(std::make_unique<HeadGroupLayer>(config, group, slopes[i], init));
    add_child(std::to_string(i), *groups_.back());
    values += group.heads * group.v_dim;
  }
  o_proj_ = std::make_unique<Linear>(values, config.width, config.attention_bias, init, true);
  add_child("o_proj", *o_proj_);
}

Var Attention::forward(const Var& x, const AttentionContext& context) const {
  std::vector<Var> outputs;
  for (size_t i = 0; i < groups_.size(); ++i)
    outputs.push_back(
        groups_[i]->forward(x, context, context.dropout > 0 ? context.dropout_keys[i] : engine::RngKey{}));
  return o_proj_->forward(outputs.size() == 1 ? outputs[0] : autograd::concat(outputs, -1));  // (B, T, D)
}

std::string Attention::describe() const {
  std::string text = "attention ";
  for (size_t i = 0; i < groups_.size(); ++i) text += (i == 0 ? "" : " + ") + groups_[i]->describe();
  return text;
}

}  // namespace headroom::models
