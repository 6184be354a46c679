#include "models/attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/attention/cached_attention.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/operators.h"
#include "models/positions.h"
#include "models/weights/per_head.h"

namespace headroom::models {
namespace {

/// Queries or keys of `heads` heads.
ProjectionShape head_maps(const TransformerConfig& config, const HeadGroup& group, int64_t heads, int64_t rank,
                          int64_t head_rank, bool bias) {
  return {.in = config.width,
          .out = heads * group.qk_dim,
          .bias = bias,
          .rank = head_rank > 0 ? head_rank : rank,
          .heads = head_rank > 0 ? heads : 1};
}

}  // namespace

HeadGroupLayer::HeadGroupLayer(const TransformerConfig& config, const HeadGroup& group, int64_t layer,
                               const Tensor& log_slopes, RopeCache& rope, const WeightScope& scope)
    : group_(group),
      causal_(config.causal),
      interleaved_(config.rope_interleaved),
      scale_(score_scale(config, group, layer)),
      window_(window_of(config, layer)),
      q_proj_(head_maps(config, group, group.heads, group.q_rank, group.q_head_rank, attention_biases(config).q),
              scope.at("q_proj")),
      k_proj_(
          head_maps(config, group, group.projected_keys(), group.k_rank, group.k_head_rank, attention_biases(config).k),
          scope.at("k_proj")),
      v_proj_({config.width, group.key_value_heads() * group.v_dim, attention_biases(config).v, group.v_rank},
              scope.at("v_proj")) {
  add_child("q_proj", q_proj_);
  add_child("k_proj", k_proj_);
  add_child("v_proj", v_proj_);
  if (config.qk_norm) {
    q_norm_ = std::make_unique<NormLayer>(Norm::rms_norm, group.qk_dim, config.norm_eps, scope.at("q_norm"));
    k_norm_ = std::make_unique<NormLayer>(Norm::rms_norm, group.qk_dim, config.norm_eps, scope.at("k_norm"));
    add_child("q_norm", *q_norm_);
    add_child("k_norm", *k_norm_);
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
  if (scheme_of(config).turns()) turns_ = rope.turns_of(config, group, layer);
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
  // Views on one product suit the rotary turn and attention; other ops would copy them first.
  if (group_.v_dim == dim && !q_norm_ && !q_score_.defined())
    if (const Var all = located([&] { return joint_forward({&q_proj_, &k_proj_, &v_proj_}, x); }); all.defined()) {
      const Var by_heads = autograd::reshape(all, {x.dim(0), x.dim(1), heads + 2 * kv_heads, dim});
      const std::vector<Var> parts = autograd::split(by_heads, {heads, kv_heads, kv_heads}, 2);
      return {parts[0], parts[1], parts[2]};
    }
  return {project(q_proj_, x, heads, dim), project(k_proj_, x, group_.projected_keys(), dim),
          project(v_proj_, x, kv_heads, group_.v_dim)};
}

HeadGroupLayer::Scored HeadGroupLayer::scored(Var q, Var k, const AttentionContext& context, size_t index) const {
  if (q_norm_) q = q_norm_->forward(q), k = k_norm_->forward(k);
  return located([&] {
    Scored out{q.value(), k.value(), q, k};
    if (turns_) {
      const engine::RopeTable table = context.sequences ? turns_->at(*context.sequences)
                                      : context.place
                                          ? turns_->at(context.place->position, (*context.caches)[index].capacity())
                                          : turns_->rows(context.offset, context.offset + q.dim(1), context.length);
      out.q = autograd::rope(q, table);
      out.k = autograd::rope(k, table);
    }
    if (!q_score_.defined()) return out;
    out.q = per_head_linear(out.q, q_score_);  // (B, T, H, score_dim)
    const int64_t kv_heads = group_.key_value_heads(), joined = group_.joined_keys * group_.qk_dim;
    out.k = autograd::reshape(out.k, {out.k.dim(0), out.k.dim(1), kv_heads, joined});  // (B, T, H_kv, J · d_qk)
    out.k = per_head_linear(out.k, k_score_);                                          // (B, T, H_kv, score_dim)
    return out;
  });
}

Var HeadGroupLayer::forward(const Var& x, const AttentionContext& context, size_t index) const {
  const std::array<Var, 3> parts = projected(x);
  Scored of = scored(parts[0], parts[1], context, index);
  Var v = parts[2];
  return located([&] {
    Var &q = of.q, &k = of.k;
    const Var slopes = log_slopes_.defined() ? autograd::exp(log_slopes_) : Var();  // (H)
    const auto joined = [&](const Var& y) {
      return autograd::reshape(y, {x.dim(0), x.dim(1), group_.heads * group_.v_dim});
    };
    if (context.place) {
      KeyValueCache& cache = (*context.caches)[index];
      cache.put(k.value(), v.value(), context.place->length);
      return joined(Var(engine::cached_attention(q.value(), cache.key_memory(), cache.value_memory(),
                                                 slopes.defined() ? slopes.value() : Tensor(), scale_,
                                                 context.place->length, window_)));  // (B, 1, H, d_v)
    }
    if (context.observer)
      (*context.observer)({.layer = context.layer,
                           .group = index,
                           .x = x.value(),
                           .raw_q = of.raw_q,
                           .raw_k = of.raw_k,
                           .q = q.value(),
                           .k = k.value(),
                           .v = v.value(),
                           .scale = scale_,
                           .window = window_});
    if (context.caches)
      return joined(
          Var(behind((*context.caches)[index], q.value(), k.value(), v.value(), slopes.value(), context.key_mask)));
    const auto round = [](Var& rows, engine::BlockFormat format, const Tensor& scales) {
      const Tensor turned = engine::turned_rows(rows.value(), format, scales);  // (B, T, H_kv, d)
      rows = Var(engine::turned_rows(engine::unpack_rows(engine::pack_rows(turned, format)), format));
    };
    if (const auto format = context.rounded_to.keys(group_)) {
      const KeyScales scales = key_scales(format);
      round(k, *format, scales.keys);
      if (scales.queries.defined()) q = Var(q.value() * scales.queries);  // (B, T, H, d)
    }
    if (const auto format = context.rounded_to.values(group_)) round(v, *format, {});
    if (context.sequences)
      return joined(Var(by_sequence(q.value(), k.value(), v.value(), slopes.value(), context, index)));
    engine::AttentionOptions options{
        .causal = causal_, .scale = scale_, .key_mask = context.key_mask, .window = window_};
    if (context.probabilities) context.probabilities->push_back(probabilities(q, k, slopes, options));
    options.dropout = context.dropout;
    if (context.dropout > 0) options.dropout_key = context.dropout_keys[index];
    return joined(autograd::attention(q, k, v, slopes, options));  // (B, T, H, d_v)
  });
}

Tensor HeadGroupLayer::behind(KeyValueCache& cache, const Tensor& q, const Tensor& k, const Tensor& v,
                              const Tensor& slopes, const Tensor& key_mask) const {
  if (cache.offset() == 0) cache.scale(key_scales(cache.key_format()));
  cache.append(k, v);
  engine::AttentionOptions options{.causal = causal_, .scale = scale_, .key_mask = key_mask, .window = window_};
  // A cache that a window lets forget holds the last keys alone.
  if (key_mask.defined()) options.key_mask = key_mask.slice(1, key_mask.dim(1) - cache.length(), key_mask.dim(1));
  return cache.attention(q, slopes, options);
}

KeyScales HeadGroupLayer::key_scales(std::optional<engine::BlockFormat> format) const {
  const bool in_blocks = format && engine::traits_of(*format).elements > 1;
  return in_blocks && q_norm_ && !q_score_.defined() ? even_key_scales(*q_norm_, *k_norm_, interleaved_) : KeyScales();
}

Tensor HeadGroupLayer::by_sequence(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                                   const AttentionContext& context, size_t index) const {
  // Behind a prefix some of its queries are asked again: few queries alone would be added in another order than those
  // of a whole text are, and tiles of queries are padded to as many anyway.
  constexpr int64_t asked_again = 16;
  std::vector<Tensor> outputs;
  for (const auto& [begin, end, state, prefix] : context.sequences->rows) {
    const auto own = [&, from = begin, to = end](const Tensor& x) { return x.slice(1, from, to); };
    if (state) {
      outputs.push_back(behind(state->layer(context.layer)[index], own(q), own(k), own(v), slopes, {}));
      continue;
    }
    const int64_t again = std::min(prefix, asked_again);
    const auto with_prefix = [&, first = prefix](const Tensor& x, int64_t from) {
      return from == first ? own(x) : engine::concat({x.slice(1, from, first), own(x)}, 1);
    };
    const Tensor y = engine::attention(with_prefix(q, prefix - again), with_prefix(k, 0), with_prefix(v, 0), slopes,
                                       {.causal = causal_, .scale = scale_, .window = window_})
                         .y;  // (1, again + T, H, d_v)
    outputs.push_back(y.slice(1, again, y.dim(1)));
  }
  return engine::concat(outputs, 1);
}

Var HeadGroupLayer::weights(const Var& x, const AttentionContext& context) const {
  const Var raw_q = project(q_proj_, x, group_.heads, group_.qk_dim);
  const Var raw_k = project(k_proj_, x, group_.projected_keys(), group_.qk_dim);
  const Scored of = scored(raw_q, raw_k, context, 0);
  return located([&] {
    const Var slopes = log_slopes_.defined() ? autograd::exp(log_slopes_) : Var();  // (H)
    return autograd::attention_weights(
        of.q, of.k, slopes, {.causal = causal_, .scale = scale_, .key_mask = context.key_mask, .window = window_});
  });
}

Tensor HeadGroupLayer::probabilities(const Var& q, const Var& k, const Var& slopes,
                                     const engine::AttentionOptions& options) const {
  const int64_t batch = q.dim(0), length = q.dim(1), kv_heads = group_.key_value_heads();
  // Values that are the unit vectors of the positions: their weighted sum is the weights.
  const Tensor eye = Tensor::zeros({1, length, 1, length});  // (1, T, 1, T)
  for (int64_t t = 0; t < length; ++t) eye.mutable_data<float>()[t * length + t] = 1;
  const Tensor there = eye.to(q.value().dtype()).to(q.value().device());
  const Var unit(there.expand({batch, length, kv_heads, length}).contiguous());  // (B, T, H_kv, T)
  const autograd::NoGrad no_grad;
  return autograd::attention(q, k, unit, slopes, options).value().permute({0, 2, 1, 3}).contiguous();  // (B, H, T, T)
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

Attention::Attention(const TransformerConfig& config, const LayerConfig& layer, int64_t index, RopeCache& rope,
                     const WeightScope& scope) {
  std::vector<Tensor> slopes(layer.groups.size());
  if (scheme_of(config).biases_scores())
    slopes = alibi_log_slopes(layer.groups, config.alibi_slope_first, config.alibi_slope_last, scope.dtype());
  int64_t values = 0;
  for (size_t i = 0; i < layer.groups.size(); ++i) {
    const HeadGroup& group = layer.groups[i];
    const std::string name = std::to_string(i);
    groups_.push_back(std::make_unique<HeadGroupLayer>(config, group, index, slopes[i], rope, scope.at(name)));
    add_child(name, *groups_.back());
    values += group.heads * group.v_dim;
  }
  o_proj_ = std::make_unique<Projection>(ProjectionShape{.in = values,
                                                         .out = config.width,
                                                         .bias = attention_biases(config).o,
                                                         .rank = layer.o_rank,
                                                         .ends_branch = true},
                                         scope.at("o_proj"));
  add_child("o_proj", *o_proj_);
}

Var Attention::forward(const Var& x, const AttentionContext& context) const {
  std::vector<Var> outputs;
  for (size_t i = 0; i < groups_.size(); ++i) outputs.push_back(groups_[i]->forward(x, context, i));
  return o_proj_->forward(outputs.size() == 1 ? outputs[0] : autograd::concat(outputs, -1));  // (B, T, D)
}

Var Attention::weights(const Var& x, const AttentionContext& context) const {
  std::vector<Var> parts;
  for (const auto& group : groups_) parts.push_back(group->weights(x, context));
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
