#include "models/attention.h"

#include <utility>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/switch.h"
#include "models/positions.h"

namespace headroom::models {
namespace {

/// True if queries, keys and values should be one product: views of it suit the rotary turn and attention, but other
/// ops would copy them first.
bool are_joint(const TransformerConfig& config, const HeadGroup& group) {
  return !engine::is_off("HEADROOM_JOINT_QKV") && group.v_dim == group.qk_dim && !config.qk_norm &&
         group.score_dim == 0;
}

/// Queries or keys of `heads` heads.
ProjectionShape head_maps(const TransformerConfig& config, const HeadGroup& group, int64_t heads, int64_t rank,
                          int64_t head_rank, bool bias, bool joins_previous) {
  return {.in = config.width,
          .out = heads * group.qk_dim,
          .bias = bias,
          .rank = head_rank > 0 ? head_rank : rank,
          .heads = head_rank > 0 ? heads : 1,
          .placement = {.joins_previous = joins_previous}};
}

}  // namespace

HeadGroupLayer::HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, size_t layer, size_t index,
                               const Tensor& log_slopes, RopeCache& rope, const WeightScope& scope)
    : group_(group),
      layer_(layer),
      index_(index),
      causal_(config.causal),
      interleaved_(config.rope_interleaved),
      is_joint_(are_joint(config, group)),
      scale_(score_scale(config, group, static_cast<int64_t>(layer))),
      window_(window_of(config, static_cast<int64_t>(layer))),
      q_proj_(head_maps(config, group, group.heads, group.q_rank, group.q_head_rank, attention_biases(config).q, false),
              scope.at("q_proj")),
      k_proj_(head_maps(config, group, group.projected_keys(), group.k_rank, group.k_head_rank,
                        attention_biases(config).k, is_joint_),
              scope.at("k_proj")),
      v_proj_({.in = config.width,
               .out = group.key_value_heads() * group.v_dim,
               .bias = attention_biases(config).v,
               .rank = group.v_rank,
               .placement = {.joins_previous = is_joint_}},
              scope.at("v_proj")) {
  add_child("q_proj", q_proj_);
  add_child("k_proj", k_proj_);
  add_child("v_proj", v_proj_);
  if (config.qk_norm) {
    q_norm_ = make_child<NormLayer>(scope, "q_norm", Norm::rms_norm, group.qk_dim, config.norm_eps);
    k_norm_ = make_child<NormLayer>(scope, "k_norm", Norm::rms_norm, group.qk_dim, config.norm_eps);
  }
  if (group.score_dim > 0) {
    const auto score = [&](const char* name, int64_t heads, int64_t width) {
      const int64_t rows = heads * group.score_dim;
      return add_parameter(
          name, scope.tensor(name, {rows, width}, [=](const Initializer& i) { return i.weight(rows, width, false); }),
          true);
    };
    q_score_ = score("q_score", group.heads, group.qk_dim);  // (H · score_dim, d_qk)
    k_score_ = score("k_score", group.key_value_heads(),
                     group.joined_keys * group.qk_dim);  // (H_kv · score_dim, J · d_qk)
  }
  if (scheme_of(config).turns()) turns_ = rope.turns_of(config, group, static_cast<int64_t>(layer));
  if (log_slopes.defined())
    log_slopes_ = add_parameter(
        "log_slopes", scope.tensor("log_slopes", log_slopes.shape(), [&](const Initializer&) { return log_slopes; }),
        false);
}

Var HeadGroupLayer::project(const Projection& projection, const Var& x, int64_t heads, int64_t dim) {
  return autograd::reshape(projection.forward(x), {x.dim(0), x.dim(1), heads, dim});  // (B, T, H, D)
}

std::array<Var, 3> HeadGroupLayer::projected(const Var& x) const {
  const int64_t heads = group_.heads, kv_heads = group_.key_value_heads(), dim = group_.qk_dim;
  if (is_joint_)
    if (const Var all = located([&] { return joint_forward({&q_proj_, &k_proj_, &v_proj_}, x); }); all.defined()) {
      const Var by_heads = autograd::reshape(all, {x.dim(0), x.dim(1), heads + 2 * kv_heads, dim});
      const std::vector<Var> parts = autograd::split(by_heads, {heads, kv_heads, kv_heads}, 2);
      return {parts[0], parts[1], parts[2]};
    }
  return {project(q_proj_, x, heads, dim), project(k_proj_, x, group_.projected_keys(), dim),
          project(v_proj_, x, kv_heads, group_.v_dim)};
}

AttentionInputs HeadGroupLayer::scored(Var q, Var k, const KeysAndValues& keys) const {
  if (q_norm_) q = q_norm_->forward(q), k = k_norm_->forward(k);
  return located([&] {
    AttentionInputs in{
        .heads = *this, .layer = layer_, .group = index_, .raw_q = q.value(), .raw_k = k.value(), .q = q, .k = k};
    in.options = {.causal = causal_, .scale = scale_, .window = window_};
    if (turns_) {
      const engine::RopeTable table = keys.turns(*turns_, in);
      in.q = autograd::rope(q, table);
      in.k = autograd::rope(k, table);
    }
    if (q_score_.defined()) {
      const int64_t kv_heads = group_.key_value_heads(), joined = group_.joined_keys * group_.qk_dim;
      in.q = per_head_linear(in.q, q_score_);                                        // (B, T, H, score_dim)
      in.k = autograd::reshape(in.k, {in.k.dim(0), in.k.dim(1), kv_heads, joined});  // (B, T, H_kv, J · d_qk)
      in.k = per_head_linear(in.k, k_score_);                                        // (B, T, H_kv, score_dim)
    }
    if (log_slopes_.defined()) in.slopes = autograd::exp(log_slopes_);  // (H)
    return in;
  });
}

Var HeadGroupLayer::forward(const Var& x, const AttentionContext& context) const {
  const auto [q, k, v] = projected(x);
  AttentionInputs in = scored(q, k, context.keys);
  in.x = x.value();
  in.v = v;
  in.options.dropout = context.dropout;
  if (context.dropout > 0) in.options.dropout_key = context.dropout_keys[index_];
  return located([&] {
    const Var y = context.keys.attend(std::move(in));  // (B, T, H, d_v)
    return autograd::reshape(y, {x.dim(0), x.dim(1), group_.heads * group_.v_dim});
  });
}

KeyScales HeadGroupLayer::key_scales(std::optional<engine::BlockFormat> format) const {
  const bool in_blocks = format && engine::traits_of(*format).elements > 1;
  return in_blocks && q_norm_ && !q_score_.defined() ? even_key_scales(*q_norm_, *k_norm_, interleaved_) : KeyScales();
}

Var HeadGroupLayer::weights(const Var& x, const Tensor& key_mask) const {
  AttentionInputs in = scored(project(q_proj_, x, group_.heads, group_.qk_dim),
                              project(k_proj_, x, group_.projected_keys(), group_.qk_dim), own_keys({}));
  in.options.key_mask = key_mask;
  return located([&] { return autograd::attention_weights(in.q, in.k, in.slopes, in.options); });
}

std::string HeadGroupLayer::describe() const {
  const int64_t kv_heads = group_.key_value_heads();
  std::string text = fmt::format("{} x (qk {}, v {}", group_.heads, group_.qk_dim, group_.v_dim);
  if (kv_heads != group_.heads) text += fmt::format(", {} key-value", kv_heads);
  for (const auto& [name, projection] : {std::pair{"q", &q_proj_}, {"k", &k_proj_}, {"v", &v_proj_}})
    if (const std::string form = projection->weight().describe(); !form.empty())
      text += fmt::format(", {}:{}", name, form.substr(1));
  if (q_score_.defined()) text += fmt::format(", scores in {}", group_.score_dim);
  if (group_.joined_keys > 1) text += fmt::format(", {} keys joined", group_.joined_keys);
  if (window_ > 0) text += fmt::format(", window {}", window_);
  return text + (q_norm_ ? ", q/k norm)" : ")");
}

Attention::Attention(const TransformerConfig& config, const LayerConfig& layer, size_t index, RopeCache& rope,
                     const WeightScope& scope) {
  std::vector<Tensor> slopes(layer.groups.size());
  if (scheme_of(config).biases_scores())
    slopes = alibi_log_slopes(layer.groups, config.alibi_slope_first, config.alibi_slope_last, scope.dtype(),
                              config.alibi_slopes);
  int64_t values = 0;
  for (size_t i = 0; i < layer.groups.size(); ++i) {
    const HeadGroup& group = layer.groups[i];
    groups_.push_back(make_child<HeadGroupLayer>(scope, std::to_string(i), config, group, index, i, slopes[i], rope));
    values += group.heads * group.v_dim;
  }
  o_proj_ = make_child<Projection>(scope, "o_proj",
                                   ProjectionShape{.in = values,
                                                   .out = config.width,
                                                   .bias = attention_biases(config).o,
                                                   .rank = layer.o_rank,
                                                   .ends_branch = true});
}

Var Attention::forward(const Var& x, const AttentionContext& context) const {
  std::vector<Var> outputs;
  for (const auto& group : groups_) outputs.push_back(group->forward(x, context));
  return o_proj_->forward(outputs.size() == 1 ? outputs[0] : autograd::concat(outputs, -1));  // (B, T, D)
}

Var Attention::weights(const Var& x, const Tensor& key_mask) const {
  std::vector<Var> parts;
  for (const auto& group : groups_) parts.push_back(group->weights(x, key_mask));
  return parts.size() == 1 ? parts[0] : autograd::concat(parts, 1);  // (B, H, T, T)
}

const HeadGroupLayer& Attention::group(size_t index) const {
  require(index < groups_.size(), "attention: group {} of {}", index, groups_.size());
  return *groups_[index];
}

std::string Attention::describe() const {
  std::string text = "attention ";
  for (size_t i = 0; i < groups_.size(); ++i) text += (i == 0 ? "" : " + ") + groups_[i]->describe();
  return text;
}

}  // namespace headroom::models
