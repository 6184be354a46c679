#include "tasks/compression/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/error.h"
#include "engine/name_table.h"
#include "models/positions.h"
#include "models/rope_cache.h"

namespace headroom::tasks {
namespace {

using models::HeadGroup;
using models::LayerConfig;
using models::TransformerConfig;

constexpr NameTable<QkMethod, 14> qk_names{{
    {QkMethod::none, "none"},
    {QkMethod::plain, "plain"},
    {QkMethod::product, "product"},
    {QkMethod::product_grouped, "product-grouped"},
    {QkMethod::product_literal, "product-literal"},
    {QkMethod::pca, "pca"},
    {QkMethod::pairs, "pairs"},
    {QkMethod::pairs_grouped, "pairs-grouped"},
    {QkMethod::pairs_even, "pairs-even"},
    {QkMethod::whitened, "whitened"},
    {QkMethod::whitened_grouped, "whitened-grouped"},
    {QkMethod::whitened_relative, "whitened-relative"},
    {QkMethod::whitened_rotated, "whitened-rotated"},
    {QkMethod::whitened_rotated_grouped, "whitened-rotated-grouped"},
}};
constexpr NameTable<VoMethod, 2> vo_names{{{VoMethod::none, "none"}, {VoMethod::whitened, "whitened"}}};

/// Heads of the same shape as many times.
bool are_alike(HeadGroup a, const HeadGroup& b) {
  if (a.heads * b.key_value_heads() != b.heads * a.key_value_heads()) return false;
  a.heads = b.heads, a.kv_heads = b.kv_heads;
  return a == b;
}

/// One key-value head of the original with its query heads, after a plan.
HeadGroup compressed_head(const HeadGroup& base, const CompressionPlan& plan, size_t layer, size_t kv) {
  const int64_t qk_rank = plan.qk_ranks[layer][kv], vo_rank = plan.vo_ranks[layer][kv];
  HeadGroup head = base;
  head.heads = base.heads / base.key_value_heads();
  head.kv_heads = 1;
  if (plan.is_joined(layer, kv)) head.heads *= 2, head.joined_keys = 2;
  if (!plan.cache.empty()) head.key_cache = plan.cache[layer][kv].keys, head.value_cache = plan.cache[layer][kv].values;
  if (vo_rank > 0) head.v_dim = vo_rank;
  if (qk_rank == 0) return head;
  if (has_own_keys(plan.qk)) head.kv_heads = head.heads;
  if (maps_after_turn(plan.qk)) {
    head.score_dim = qk_rank;
  } else if (is_narrower(plan.qk)) {
    head.qk_dim = qk_rank;
    head.rope_frequencies.clear();
  } else {
    head.q_head_rank = head.k_head_rank = qk_rank;
  }
  return head;
}

/// `joined`: of the plan; such heads are require_joined()'s.
void require_ranks(const char* part, const std::vector<std::vector<int64_t>>& ranks, const TransformerConfig& base,
                   const std::vector<int64_t>& possible, const std::vector<std::vector<bool>>& joined) {
  const std::vector<LayerConfig> layers = models::layers_of(base);
  require(ranks.size() == layers.size(), "{}: ranks for {} layers; the model has {}", part, ranks.size(),
          layers.size());
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const int64_t heads = layers[layer].groups.at(0).key_value_heads();
    require(std::ssize(ranks[layer]) == heads, "{}: layer {} has {} key-value heads, ranks are given for {}", part,
            layer, heads, ranks[layer].size());
    for (size_t head = 0; head < ranks[layer].size(); ++head) {
      const int64_t rank = ranks[layer][head];
      if (rank == 0 || (!joined.empty() && joined[layer][head]) ||
          std::binary_search(possible.begin(), possible.end(), rank))
        continue;
      const bool all = !possible.empty() && std::ssize(possible) == possible.back();
      fail("{}: rank {} of layer {}, key-value head {}: expected {}", part, rank, layer, head,
           all ? fmt::format("1 to {}", possible.back()) : fmt::format("one of {}", fmt::join(possible, ", ")));
    }
  }
}

void require_joined(const CompressionPlan& plan, const TransformerConfig& base) {
  const HeadGroup own = models::first_layer(base).groups.at(0);
  for (size_t layer = 0; layer < plan.joined.size(); ++layer) {
    require(plan.joined.size() == plan.qk_ranks.size() && plan.joined.size() == plan.vo_ranks.size() &&
                plan.joined[layer].size() == plan.qk_ranks[layer].size() &&
                plan.joined[layer].size() == plan.vo_ranks[layer].size(),
            "joined heads: not given for each key-value head of each layer");
    const std::vector<bool>& joined = plan.joined[layer];
    const auto &qk = plan.qk_ranks[layer], &vo = plan.vo_ranks[layer];
    for (size_t kv = 0; kv < joined.size(); ++kv) {
      if (!joined[kv]) continue;
      require(can_join(plan.qk, plan.vo, base), "qk {} and vo {}: heads of this model cannot be joined",
              name_of(plan.qk), name_of(plan.vo));
      require(kv + 1 < joined.size() && !joined[kv + 1] && qk[kv + 1] == 0 && vo[kv + 1] == 0,
              "layer {}, key-value head {}: joined with one that is not there, or has a plan of its own", layer, kv);
      require(qk[kv] >= 1 && qk[kv] <= 2 * own.qk_dim && vo[kv] >= 1 && vo[kv] <= 2 * own.v_dim,
              "layer {}, joined key-value heads {} and {}: ranks {} and {}; expected 1 to {} and to {}", layer, kv,
              kv + 1, qk[kv], vo[kv], 2 * own.qk_dim, 2 * own.v_dim);
    }
  }
}

/// Gives heads that have become narrower the first of the frequencies that they had.
void take_first_pairs(std::vector<HeadGroup>& groups, const std::vector<double>& frequencies) {
  for (HeadGroup& group : groups)
    if (group.rope_frequencies.empty() && group.qk_dim < 2 * std::ssize(frequencies))
      group.rope_frequencies.assign(frequencies.begin(), frequencies.begin() + group.qk_dim / 2);
}

}  // namespace

const char* name_of(QkMethod method) { return name_in(qk_names, method); }
const char* name_of(VoMethod method) { return name_in(vo_names, method); }
std::vector<std::string> qk_method_names() { return names_in(qk_names); }
std::vector<std::string> vo_method_names() { return names_in(vo_names); }
QkMethod qk_method_named(std::string_view name) { return named_in(qk_names, name, "qk", "method"); }
VoMethod vo_method_named(std::string_view name) { return named_in(vo_names, name, "vo", "method"); }

CalibrationNeeds needs_of(QkMethod qk, VoMethod vo) {
  const CalibrationNeeds outputs{.outputs = vo != VoMethod::none};
  switch (qk) {
    case QkMethod::pca:
    case QkMethod::pairs:
    case QkMethod::pairs_grouped:
    case QkMethod::whitened:
    case QkMethod::whitened_grouped:
    case QkMethod::whitened_relative:
      return CalibrationNeeds{.before_turn = true} | outputs;
    case QkMethod::whitened_rotated:
    case QkMethod::whitened_rotated_grouped:
      return CalibrationNeeds{.after_turn = true} | outputs;
    default:
      return outputs;
  }
}

bool has_own_keys(QkMethod method) {
  return method == QkMethod::product || method == QkMethod::product_literal || method == QkMethod::pairs ||
         method == QkMethod::whitened || method == QkMethod::whitened_rotated;
}
bool keeps_pairs(QkMethod method) {
  return method == QkMethod::pairs || method == QkMethod::pairs_grouped || method == QkMethod::pairs_even;
}
bool is_narrower(QkMethod method) { return method == QkMethod::product_literal || keeps_pairs(method); }
bool maps_after_turn(QkMethod method) {
  return method == QkMethod::whitened_rotated || method == QkMethod::whitened_rotated_grouped;
}
bool can_join(QkMethod qk, VoMethod vo, const TransformerConfig& base) {
  return qk == QkMethod::whitened_rotated_grouped && vo == VoMethod::whitened &&
         models::first_layer(base).groups.at(0).key_value_heads() > 1;
}

CompressionPlan empty_plan(const TransformerConfig& base, QkMethod qk, VoMethod vo) {
  return uniform_plan(base, qk, vo, 0, 0, {});
}

CompressionPlan uniform_plan(const TransformerConfig& base, QkMethod qk, VoMethod vo, int64_t qk_rank, int64_t vo_rank,
                             const std::set<int64_t>& layers) {
  CompressionPlan plan{.qk = qk, .vo = vo};
  for (const LayerConfig& layer : models::layers_of(base)) {
    const bool is_changed = layers.contains(std::ssize(plan.qk_ranks));
    const auto heads = static_cast<size_t>(layer.groups.at(0).key_value_heads());
    plan.qk_ranks.emplace_back(heads, is_changed && qk != QkMethod::none ? qk_rank : 0);
    plan.vo_ranks.emplace_back(heads, is_changed && vo != VoMethod::none ? vo_rank : 0);
  }
  return plan;
}

std::set<int64_t> changed_layers(const CompressionPlan& plan) {
  std::set<int64_t> layers;
  for (const auto* ranks : {&plan.qk_ranks, &plan.vo_ranks})
    for (size_t layer = 0; layer < ranks->size(); ++layer)
      for (const int64_t rank : (*ranks)[layer])
        if (rank > 0) layers.insert(static_cast<int64_t>(layer));
  for (int64_t layer = 0; layer < std::ssize(plan.cache); ++layer) layers.insert(layer);
  return layers;
}

std::vector<int64_t> possible_ranks(QkMethod method, const TransformerConfig& base, int64_t dim) {
  const bool pairs_only =
      keeps_pairs(method) || (method == QkMethod::product_literal && models::scheme_of(base).turns());
  std::vector<int64_t> ranks;
  for (int64_t rank = 1; rank <= dim && method != QkMethod::none; ++rank)
    if ((!pairs_only || rank % 2 == 0) && (method != QkMethod::pairs_even || dim % rank == 0)) ranks.push_back(rank);
  return ranks;
}

std::vector<int64_t> possible_ranks(VoMethod method, int64_t dim) {
  std::vector<int64_t> ranks(static_cast<size_t>(method == VoMethod::none ? 0 : dim));
  std::iota(ranks.begin(), ranks.end(), 1);
  return ranks;
}

std::string unsuited_because(QkMethod qk, const TransformerConfig& base) {
  const HeadGroup first = models::first_group(base);
  bool are_alike = true, are_factored = false;
  models::for_each_layer(base, [&](const LayerConfig& layer, int64_t) {
    are_alike &=
        layer.groups.size() == 1 && layer.groups[0].qk_dim == first.qk_dim && layer.groups[0].v_dim == first.v_dim;
    are_factored |= models::has_factored_heads(layer);
  });
  if (!are_alike) return "its heads have different shapes: compress the model that it was made from";
  if (are_factored) return "its heads are factored already: compress the model that it was made from";
  if (!models::scheme_of(base).has_plain_scores()) return "its scores are biased by distance (ALiBi)";
  if (first.qk_dim > base.width || first.v_dim > base.width)
    return fmt::format("its heads are wider than the model, {} and {} of {}", first.qk_dim, first.v_dim, base.width);
  const bool needs_turn = keeps_pairs(qk) || maps_after_turn(qk);
  if (needs_turn && !models::scheme_of(base).turns())
    return fmt::format("qk method {} is about rotary positions; the model has {} ones", name_of(qk),
                       name_of(base.positions));
  // A kept pair has one frequency, whatever the length; those that are not kept by number have the narrower head's.
  const models::RopeScalingKind kind = base.rope_scaling.kind;
  const bool is_by_number =
      kind == models::RopeScalingKind::yarn && qk != QkMethod::pairs && qk != QkMethod::pairs_grouped;
  if (is_narrower(qk) && (is_by_number || models::rope_limit(base) < std::numeric_limits<int64_t>::max()))
    return fmt::format(
        "qk method {} makes heads narrower, whose frequencies are others under this model's rope "
        "scaling, {}: plain and whitened-rotated keep their width",
        name_of(qk), models::name_of(kind));
  if (base.qk_norm && qk != QkMethod::none && qk != QkMethod::plain && !maps_after_turn(qk))
    return fmt::format(
        "qk method {} maps queries and keys before the norm that this model puts on them; with such norms only "
        "plain, whitened-rotated and whitened-rotated-grouped are right",
        name_of(qk));
  return "";
}

void require_suited(QkMethod qk, const TransformerConfig& base) {
  const std::string why = unsuited_because(qk, base);
  require(why.empty(), "{}", why);
}

void validate(const CompressionPlan& plan, const TransformerConfig& base) {
  require_suited(plan.qk, base);
  const HeadGroup head = models::first_layer(base).groups.at(0);
  require_joined(plan, base);
  require_ranks("qk", plan.qk_ranks, base, possible_ranks(plan.qk, base, head.qk_dim), plan.joined);
  require_ranks("vo", plan.vo_ranks, base, possible_ranks(plan.vo, head.v_dim), plan.joined);
  for (size_t layer = 0; !plan.cache.empty() && layer < plan.qk_ranks.size(); ++layer)
    require(plan.cache.size() == plan.qk_ranks.size() && plan.cache[layer].size() == plan.qk_ranks[layer].size(),
            "cache: formats are not given for each key-value head of each layer");
}

CompressedLayer compressed_layer(const TransformerConfig& base, const CompressionPlan& plan, size_t layer) {
  const HeadGroup own = models::layers_of(base)[layer].groups[0];
  const int64_t shared = own.heads / own.key_value_heads();
  CompressedLayer out;
  bool joins = false;  // heads that keep pairs of their own turn with frequencies of their own: each is a group
  for (int64_t kv = 0; kv < own.key_value_heads(); ++kv) {
    const auto at = static_cast<size_t>(kv);
    const bool is_joined = plan.is_joined(layer, at);
    const int64_t rank = plan.qk_ranks[layer][at];
    HeadGroup head = compressed_head(own, plan, layer, at);
    const bool has_own_pairs = rank > 0 && (plan.qk == QkMethod::pairs || plan.qk == QkMethod::pairs_grouped);
    const int64_t spans = has_own_pairs && plan.qk == QkMethod::pairs ? shared : 1;
    head.heads /= spans, head.kv_heads /= spans;
    for (int64_t i = 0; i < spans; ++i) {
      const HeadSpan span{.kv = kv, .first = kv * shared + i, .count = head.heads, .is_joined = is_joined};
      if (joins && !has_own_pairs && are_alike(out.groups.back(), head)) {
        out.groups.back().heads += head.heads, out.groups.back().kv_heads += head.kv_heads;
        out.members.back().push_back(span);
      } else {
        out.groups.push_back(head);
        out.members.push_back({span});
      }
      joins = !has_own_pairs;
    }
    if (is_joined) ++kv;
  }
  return out;
}

TransformerConfig with_layers(TransformerConfig config, std::vector<LayerConfig> layers) {
  const bool are_equal = std::all_of(layers.begin(), layers.end(), [&](const auto& l) { return l == layers[0]; });
  const LayerConfig layer = are_equal ? layers.at(0) : LayerConfig{};
  config.groups = layer.groups, config.ffn_width = layer.ffn_width, config.o_rank = layer.o_rank;
  config.unequal_layers = are_equal ? std::vector<LayerConfig>() : std::move(layers);
  return config;
}

TransformerConfig compressed_config(const TransformerConfig& base, const CompressionPlan& plan) {
  validate(plan, base);
  std::vector<LayerConfig> layers = models::layers_of(base);
  const std::set<int64_t> changed = changed_layers(plan);
  for (const int64_t layer : changed) {
    const auto at = static_cast<size_t>(layer);
    const HeadGroup own = layers[at].groups[0];
    layers[at].groups = compressed_layer(base, plan, at).groups;
    if (plan.qk == QkMethod::pairs || plan.qk == QkMethod::pairs_grouped)
      take_first_pairs(layers[at].groups, models::rope_frequencies(base, own, layer));
  }
  TransformerConfig config = with_layers(base, std::move(layers));
  if (is_narrower(plan.qk) && !changed.empty())
    config.logit_scale =
        base.logit_scale.value_or(1 / std::sqrt(static_cast<double>(models::first_layer(base).groups.at(0).qk_dim)));
  return config;
}

}  // namespace headroom::tasks
