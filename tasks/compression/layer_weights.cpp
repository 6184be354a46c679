#include "tasks/compression/layer_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/concat/concat.h"
#include "engine/ops/matmul/matmul.h"
#include "models/positions.h"
#include "models/rope_cache.h"

namespace headroom::tasks {
namespace {

/// Where no weight is drawn.
const models::Draw not_drawn{};

using engine::DType;
using engine::matmul;

/// left_r · right_r · x, or without `left` right_r · x, of x (d, …).
Tensor first_rows(const LowRankMap& map, int64_t rank) { return map.right.slice(0, 0, rank).contiguous(); }    // (r, d)
Tensor first_columns(const LowRankMap& map, int64_t rank) { return map.left.slice(1, 0, rank).contiguous(); }  // (d, r)

Tensor column(const Tensor& bias) { return bias.reshape({bias.dim(0), 1}); }

/// Makes column i of a (d, r) as long as row i of b (r, D), leaving a · b as it is: training the two starts even.
void balance(Tensor& a, Tensor& b) {
  a = a.clone(), b = b.clone();
  const int64_t rank = a.dim(1), rows = a.dim(0), columns = b.dim(1);
  auto *left = a.mutable_data<double>(), *right = b.mutable_data<double>();
  for (int64_t i = 0; i < rank; ++i) {
    double of_a = 0, of_b = 0;
    for (int64_t j = 0; j < rows; ++j) of_a += left[j * rank + i] * left[j * rank + i];
    for (int64_t j = 0; j < columns; ++j) of_b += right[i * columns + j] * right[i * columns + j];
    if (of_a == 0 || of_b == 0) continue;
    const double factor = std::pow(of_b / of_a, 0.25);
    for (int64_t j = 0; j < rows; ++j) left[j * rank + i] *= factor;
    for (int64_t j = 0; j < columns; ++j) right[i * columns + j] /= factor;
  }
}

Tensor selected_rows(const Tensor& a, const std::vector<int64_t>& rows) {
  std::vector<Tensor> parts;
  for (const int64_t row : rows) parts.push_back(a.slice(0, row, row + 1).contiguous());
  return engine::concat(parts, 0);
}

void put(models::NamedTensors& out, const std::string& name, const std::vector<Tensor>& parts) {
  if (!parts.empty()) out.emplace_back(name, engine::concat(parts, 0).to(DType::f32));
}

/// The weights that one layer's attention has after a plan.
class LayerWriter {
 public:
  LayerWriter(const models::TransformerConfig& base, const CompressionPlan& plan, int64_t layer,
              const std::map<std::string, Tensor>& weights)
      : base_(base),
        plan_(plan),
        layer_(layer),
        weights_(weights),
        head_(models::layers_of(base)[static_cast<size_t>(layer)].groups[0]),
        own_(compressed_layer(base, plan, static_cast<size_t>(layer))) {}

  std::vector<models::HeadGroup> write(const LayerMaps& maps, models::NamedTensors& out) {
    const std::vector<double> frequencies =
        models::scheme_of(base_).turns() ? models::rope_frequencies(base_, head_, layer_) : std::vector<double>();
    for (size_t group = 0; group < own_.groups.size(); ++group) {
      write_scores("q_proj", group, queries_of(group, maps), out);
      write_scores("k_proj", group, keys_of(group, maps), out);
      write_values(group, values_of(group, maps), out);
      const HeadSpan& first = own_.members[group][0];
      // Evenly spaced pairs turn with the frequencies that a head of their width has anyway.
      const bool has_own = plan_.qk != QkMethod::pairs_even || !head_.rope_frequencies.empty();
      if (qk_rank(first) == 0 || !keeps_pairs(plan_.qk) || !has_own) continue;
      const int64_t query = first.first - first.kv * (head_.heads / head_.key_value_heads());
      for (const int64_t pair : kept_pairs(maps.scores[static_cast<size_t>(first.kv)], query, qk_rank(first)))
        own_.groups[group].rope_frequencies.push_back(frequencies[static_cast<size_t>(pair)]);
    }
    write_output(maps, out);
    return own_.groups;
  }

 private:
  /// One head of a group's queries, keys or values. Of two joined keys the first has the map; two joined values are
  /// one.
  struct OwnHead {
    int64_t source = 0, count = 1;    ///< the base's head, and how many from it on
    int64_t rank = 0;                 ///< 0: as it is
    const LowRankMap* map = nullptr;  ///< null: as it is
    std::vector<int64_t> rows = {};   ///< of methods of whole pairs: those of the base that are kept
  };
  struct Pieces {
    std::vector<Tensor> a, b, weight, bias;  ///< of each head; what does not apply is empty
  };

  std::string path(size_t group, const std::string& name) const {
    return fmt::format("blocks.{}.attention.{}.{}", layer_, group, name);
  }

  /// Rows of `count` heads of a projection of the base, or of its bias, in f64; undefined where it has none.
  Tensor rows_of_base(const std::string& name, int64_t head, int64_t dim, int64_t count = 1) const {
    const auto at = weights_.find(path(0, name));
    if (at == weights_.end()) return {};
    return at->second.slice(0, head * dim, (head + count) * dim).to(DType::f64).contiguous();  // (d, D) or (d)
  }

  std::vector<int64_t> kept_pairs(const ScoreMaps& maps, int64_t query, int64_t rank) const {
    if (plan_.qk == QkMethod::pairs_even) return even_pairs(head_.qk_dim, rank);
    const std::vector<int64_t>& order = maps.pairs.at(maps.pairs.size() == 1 ? 0 : static_cast<size_t>(query));
    std::vector<int64_t> pairs(order.begin(), order.begin() + rank / 2);
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  }

  std::vector<int64_t> rows_of(const std::vector<int64_t>& pairs) const {
    std::vector<int64_t> first, second;
    for (const int64_t p : pairs) {
      if (base_.rope_interleaved) first.insert(first.end(), {2 * p, 2 * p + 1});
      else first.push_back(p), second.push_back(p + head_.qk_dim / 2);
    }
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  int64_t qk_rank(const HeadSpan& span) const {
    return plan_.qk_ranks[static_cast<size_t>(layer_)][static_cast<size_t>(span.kv)];
  }

  /// Query or key head `source` of the base, with what replaces query head `index` of the span's group.
  OwnHead score_head(const HeadSpan& span, int64_t source, const ScoreMaps* maps,
                     const std::vector<LowRankMap> ScoreMaps::*part, int64_t index) const {
    OwnHead head{.source = source, .rank = qk_rank(span)};
    if (head.rank == 0) return head;
    if (keeps_pairs(plan_.qk)) head.rows = rows_of(kept_pairs(*maps, index, head.rank));
    else head.map = &(maps->*part)[(maps->*part).size() == 1 ? 0 : static_cast<size_t>(index)];
    return head;
  }

  static const ScoreMaps* score_maps_of(const HeadSpan& span, const LayerMaps& maps) {
    const std::vector<ScoreMaps>& scores = span.is_joined ? maps.joined_scores : maps.scores;
    return scores.empty() ? nullptr : &scores[static_cast<size_t>(span.kv)];
  }

  std::vector<OwnHead> queries_of(size_t group, const LayerMaps& maps) const {
    const int64_t shared = head_.heads / head_.key_value_heads();
    std::vector<OwnHead> heads;
    for (const HeadSpan& span : own_.members[group])
      for (int64_t h = span.first; h < span.first + span.count; ++h)
        heads.push_back(score_head(span, h, score_maps_of(span, maps), &ScoreMaps::queries, h - span.kv * shared));
    return heads;
  }

  std::vector<OwnHead> keys_of(size_t group, const LayerMaps& maps) const {
    const int64_t shared = head_.heads / head_.key_value_heads();
    const int64_t copies = own_.groups[group].key_value_heads() / std::ssize(own_.members[group]);
    std::vector<OwnHead> heads;
    for (const HeadSpan& span : own_.members[group]) {
      for (int64_t i = 0; i < copies; ++i)
        heads.push_back(
            score_head(span, span.kv, score_maps_of(span, maps), &ScoreMaps::keys, span.first + i - span.kv * shared));
      if (span.is_joined) heads.push_back({.source = span.kv + 1, .rank = qk_rank(span)});
    }
    return heads;
  }

  std::vector<OwnHead> values_of(size_t group, const LayerMaps& maps) const {
    const models::HeadGroup& own = own_.groups[group];
    const int64_t copies = own.key_value_heads() / std::ssize(own_.members[group]);
    std::vector<OwnHead> heads;
    for (const HeadSpan& span : own_.members[group]) {
      const auto kv = static_cast<size_t>(span.kv);
      const int64_t rank = plan_.vo_ranks[static_cast<size_t>(layer_)][kv];
      const std::vector<ValueMaps>& values = span.is_joined ? maps.joined_values : maps.values;
      const LowRankMap* map = rank > 0 ? &values[kv].map : nullptr;
      heads.insert(heads.end(), static_cast<size_t>(copies),
                   {.source = span.kv, .count = span.is_joined ? 2 : 1, .rank = rank, .map = map});
    }
    return heads;
  }

  /// One head of q_proj or k_proj.
  void add_score_head(Pieces& pieces, const std::string& name, const OwnHead& head) const {
    Tensor weight = rows_of_base(name + ".weight", head.source, head_.qk_dim);  // (d, D)
    Tensor bias = rows_of_base(name + ".bias", head.source, head_.qk_dim);      // (d) or none
    const bool maps_biases = needs_of(plan_.qk).before_turn || is_narrower(plan_.qk);
    if (!head.rows.empty()) {
      weight = selected_rows(weight, head.rows);  // (r, D)
      if (bias.defined()) bias = selected_rows(bias, head.rows);
    } else if (head.map && !maps_after_turn(plan_.qk)) {
      const Tensor right = first_rows(*head.map, head.rank);                         // (r, d)
      Tensor mapped = matmul(right, weight);                                         // (r, D)
      Tensor mapped_bias = bias.defined() ? matmul(right, column(bias)) : Tensor();  // (r, 1)
      if (head.map->left.defined()) {
        Tensor left = first_columns(*head.map, head.rank);  // (d, r)
        if (bias.defined()) mapped_bias = matmul(left, mapped_bias);
        balance(left, mapped);
        pieces.a.push_back(left), pieces.b.push_back(mapped);
        weight = {};
      } else {
        weight = mapped;
        // Its rows are of falling weight: row p turns with row p + r/2, as in the paper's models.
        if (base_.rope_interleaved && models::scheme_of(base_).turns()) {
          std::vector<int64_t> order;
          for (int64_t p = 0; p < head.rank / 2; ++p) order.insert(order.end(), {p, p + head.rank / 2});
          weight = selected_rows(weight, order);
          if (bias.defined()) mapped_bias = selected_rows(mapped_bias, order);
        }
      }
      if (bias.defined() && maps_biases) bias = mapped_bias.reshape({mapped_bias.dim(0)});
    }
    if (weight.defined()) pieces.weight.push_back(weight);
    if (bias.defined()) pieces.bias.push_back(bias);
  }

  void write_scores(const std::string& name, size_t group, const std::vector<OwnHead>& heads,
                    models::NamedTensors& out) const {
    const bool is_query = name == "q_proj";
    const bool changes_count = std::ssize(heads) != (is_query ? head_.heads : head_.key_value_heads());
    const bool is_changed = std::any_of(heads.begin(), heads.end(), [](const OwnHead& head) { return head.rank > 0; });
    if (is_whole() && !is_changed) return;
    Pieces pieces;
    for (const OwnHead& head : heads) add_score_head(pieces, name, head);
    const bool keeps_maps = is_whole() && !changes_count && maps_after_turn(plan_.qk);
    if (!keeps_maps) {
      put(out, path(group, name + ".weight"), pieces.weight);
      put(out, path(group, name + ".weight_a"), pieces.a);
      put(out, path(group, name + ".weight_b"), pieces.b);
      put(out, path(group, name + ".bias"), pieces.bias);
    }
    if (base_.qk_norm && !is_whole()) {
      const std::string norm = is_query ? "q_norm.weight" : "k_norm.weight";
      out.emplace_back(path(group, norm), weights_.at(path(0, norm)).to(DType::f32));
    }
    if (own_.groups[group].score_dim == 0) return;
    std::vector<Tensor> maps;
    for (const OwnHead& head : heads)
      if (head.map) maps.push_back(first_rows(*head.map, head.rank));  // (r, d), of joined keys (r, 2d)
    put(out, path(group, is_query ? "q_score" : "k_score"), maps);
  }

  void write_values(size_t group, const std::vector<OwnHead>& heads, models::NamedTensors& out) const {
    const bool is_changed = std::any_of(heads.begin(), heads.end(), [](const OwnHead& head) { return head.rank > 0; });
    if (is_whole() && !is_changed && std::ssize(heads) == head_.key_value_heads()) return;
    std::vector<Tensor> weights, biases;
    for (const OwnHead& head : heads) {
      Tensor weight = rows_of_base("v_proj.weight", head.source, head_.v_dim, head.count);  // (d, D)
      Tensor bias = rows_of_base("v_proj.bias", head.source, head_.v_dim, head.count);      // (d) or none
      if (head.map) {
        const Tensor right = first_rows(*head.map, head.rank);  // (r, d)
        weight = matmul(right, weight);                         // (r, D)
        if (bias.defined()) bias = matmul(right, column(bias)).reshape({head.rank});
      }
      weights.push_back(weight);
      if (bias.defined()) biases.push_back(bias);
    }
    put(out, path(group, "v_proj.weight"), weights);
    put(out, path(group, "v_proj.bias"), biases);
  }

  void write_output(const LayerMaps& maps, models::NamedTensors& out) const {
    const std::vector<int64_t>& ranks = plan_.vo_ranks[static_cast<size_t>(layer_)];
    if (std::all_of(ranks.begin(), ranks.end(), [](int64_t rank) { return rank == 0; })) return;
    const std::string name = fmt::format("blocks.{}.attention.o_proj", layer_);
    const Tensor whole = weights_.at(name + ".weight").to(DType::f64);  // (D, H·d)
    const auto known_bias = weights_.find(name + ".bias");
    Tensor bias;  // (D)
    if (known_bias != weights_.end()) bias = known_bias->second.to(DType::f64).clone();
    const int64_t shared = head_.heads / head_.key_value_heads(), dim = head_.v_dim;
    std::vector<Tensor> columns;
    for (int64_t h = 0; h < head_.heads; ++h) {
      const int64_t kv = h / shared;
      const bool is_second = kv > 0 && plan_.is_joined(static_cast<size_t>(layer_), static_cast<size_t>(kv - 1));
      const auto first = static_cast<size_t>(is_second ? kv - 1 : kv);
      const bool is_joined = plan_.is_joined(static_cast<size_t>(layer_), first);
      const int64_t rank = ranks[first], half = is_second ? dim : 0;
      const Tensor own = whole.slice(1, h * dim, (h + 1) * dim).contiguous();  // (D, d)
      columns.push_back(own);
      if (rank == 0) continue;
      const LowRankMap& map = (is_joined ? maps.joined_values : maps.values)[first].map;
      columns.back() = matmul(own, first_columns(map, rank).slice(0, half, half + dim).contiguous());  // (D, r)
      const Tensor cached_bias = rows_of_base("v_proj.bias", static_cast<int64_t>(first), dim, is_joined ? 2 : 1);
      if (!bias.defined() || !cached_bias.defined()) continue;
      const Tensor value_bias = cached_bias.slice(0, half, half + dim).contiguous();  // (d)
      // Attention's weights sum to 1, so that a bias of the values adds the same to every position.
      const Tensor before = matmul(own, column(value_bias));                                            // (D, 1)
      const Tensor after = matmul(columns.back(), matmul(first_rows(map, rank), column(cached_bias)));  // (D, 1)
      for (int64_t i = 0; i < bias.numel(); ++i)
        bias.mutable_data<double>()[i] += before.data<double>()[i] - after.data<double>()[i];
    }
    out.emplace_back(name + ".weight", engine::concat(columns, 1).to(DType::f32));
    if (bias.defined()) out.emplace_back(name + ".bias", bias.to(DType::f32));
  }

  /// Whether the whole layer is one group, so that what is not written is the base's.
  bool is_whole() const { return own_.groups.size() == 1; }

  const models::TransformerConfig& base_;
  const CompressionPlan& plan_;
  int64_t layer_;
  const std::map<std::string, Tensor>& weights_;
  models::HeadGroup head_;  ///< of the base
  CompressedLayer own_;
};

}  // namespace

std::map<std::string, engine::Tensor> attention_weights(const models::TransformerConfig& base,
                                                        models::WeightSource& source, int64_t layer) {
  const models::HeadGroup group = models::layers_of(base)[static_cast<size_t>(layer)].groups.at(0);
  const int64_t kv_heads = group.key_value_heads(), width = base.width;
  const models::AttentionBiases biases = models::attention_biases(base);
  const std::string path = fmt::format("blocks.{}.attention.", layer);
  std::map<std::string, engine::Tensor> weights;
  const auto projection = [&](const std::string& name, int64_t out, int64_t in, bool biased) {
    const std::string weight = path + name + ".weight", bias = path + name + ".bias";
    weights[weight] = source.matrix(weight, out, in, not_drawn).values(engine::DType::f32);
    if (biased) weights[bias] = source.tensor(bias, {out}, not_drawn).value();
  };
  projection("0.q_proj", group.heads * group.qk_dim, width, biases.q);
  projection("0.k_proj", kv_heads * group.qk_dim, width, biases.k);
  projection("0.v_proj", kv_heads * group.v_dim, width, biases.v);
  projection("o_proj", width, group.heads * group.v_dim, biases.o);
  if (!base.qk_norm) return weights;
  for (const char* norm : {"0.q_norm.weight", "0.k_norm.weight"})
    weights[path + norm] = source.tensor(path + norm, {group.qk_dim}, not_drawn).value();
  return weights;
}

std::vector<models::HeadGroup> write_layer(const models::TransformerConfig& base, const CompressionPlan& plan,
                                           int64_t layer, const std::map<std::string, Tensor>& weights,
                                           const LayerMaps& maps, models::NamedTensors& out) {
  return LayerWriter(base, plan, layer, weights).write(maps, out);
}

}  // namespace headroom::tasks
