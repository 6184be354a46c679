#include "tasks/compression/methods.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "engine/parallel.h"
#include "models/positions.h"
#include "models/rope_cache.h"
#include "models/weights/sources.h"
#include "tasks/compression/layer_weights.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using models::HeadGroup;

bool changes_any(const std::vector<std::vector<int64_t>>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const std::vector<int64_t>& layer) {
    return std::any_of(layer.begin(), layer.end(), [](int64_t rank) { return rank > 0; });
  });
}

/// Values whose directions carry what each adds to the layer's output, and not W_O: then rounding them in a cache costs
/// alike along all. Tails fall by a direction's square.
ValueMaps with_weighed_values(const ValueMaps& maps) {
  ValueMaps out{{maps.map.left.clone(), maps.map.right.clone()}, maps.tails};
  const int64_t rows = out.map.left.dim(0), rank = out.map.right.dim(0), columns = out.map.right.dim(1);
  auto *left = out.map.left.mutable_data<double>(), *right = out.map.right.mutable_data<double>();
  const auto weight = [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return std::sqrt(std::max(0.0, maps.tails[at] - maps.tails[at + 1]));
  };
  constexpr double least = 1e-4;  // of the largest: what weighs nothing must not make W_O infinite
  for (int64_t i = 0; i < rank && weight(0) > 0; ++i) {
    const double factor = std::max(weight(i), least * weight(0));
    for (int64_t j = 0; j < columns; ++j) right[i * columns + j] *= factor;
    for (int64_t j = 0; j < rows; ++j) left[j * rank + i] /= factor;
  }
  return out;
}

/// The matrix of blocks a (m, n) and b (p, q) on its diagonal: (m + p, n + q).
Tensor beside(const Tensor& a, const Tensor& b) {
  const Tensor above = engine::concat({a, Tensor::zeros({a.dim(0), b.dim(1)}, DType::f64)}, 1);  // (m, n + q)
  const Tensor below = engine::concat({Tensor::zeros({b.dim(0), a.dim(1)}, DType::f64), b}, 1);  // (p, n + q)
  return engine::concat({above, below}, 0);
}

}  // namespace

HeadDecompositions::HeadDecompositions(const models::ModelFiles& base, QkMethod qk, VoMethod vo,
                                       const Calibration& calibration, const std::set<int64_t>& layers)
    : HeadDecompositions(base.description().config, *base.weights({.keep = models::Keep::computed}), qk, vo,
                         calibration, layers) {}

HeadDecompositions::HeadDecompositions(const models::TransformerConfig& base, models::WeightSource& weights,
                                       QkMethod qk, VoMethod vo, const Calibration& calibration,
                                       const std::set<int64_t>& layers)
    : base_(base), qk_(qk), vo_(vo), can_join_(calibration.has.joined && tasks::can_join(qk, vo, base)) {
  require_suited(qk, base_);
  const CalibrationNeeds needs = needs_of(qk, vo), has = calibration.has;
  require((!needs.before_turn || has.before_turn) && (!needs.after_turn || has.after_turn) &&
              (!needs.outputs || has.outputs),
          "compression: qk {} and vo {} read activations that the calibration does not have", name_of(qk), name_of(vo));
  struct Unit {
    int64_t layer, kv_head;
  };
  std::vector<Unit> units;
  for (int64_t layer = 0; layer < base_.layers; ++layer) {
    if (!layers.empty() && !layers.contains(layer)) continue;
    const HeadGroup group = models::layers_of(base_)[static_cast<size_t>(layer)].groups[0];
    weights_.merge(attention_weights(base_, weights, layer));
    LayerMaps& maps = layers_[layer];
    maps.scores.resize(static_cast<size_t>(qk == QkMethod::none ? 0 : group.key_value_heads()));
    maps.values.resize(static_cast<size_t>(vo == VoMethod::none ? 0 : group.key_value_heads()));
    maps.joined_scores.resize(static_cast<size_t>(can_join_ ? group.key_value_heads() - 1 : 0));
    maps.joined_values.resize(maps.joined_scores.size());
    for (int64_t kv = 0; kv < group.key_value_heads(); ++kv) units.push_back({layer, kv});
  }
  for (const int64_t layer : layers)
    require(layers_.contains(layer), "compression: there is no layer {}, the model has {}", layer, base_.layers);
  engine::parallel_ranges(std::ssize(units), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [layer, kv] = units[static_cast<size_t>(i)];
      LayerMaps& maps = layers_.at(layer);
      if (qk != QkMethod::none) maps.scores[static_cast<size_t>(kv)] = scores_of(layer, kv, calibration);
      if (vo != VoMethod::none) maps.values[static_cast<size_t>(kv)] = values_of(layer, kv, calibration);
      if (kv >= std::ssize(maps.joined_scores)) continue;
      maps.joined_scores[static_cast<size_t>(kv)] = joined_scores_of(layer, kv, calibration);
      maps.joined_values[static_cast<size_t>(kv)] = joined_values_of(layer, kv, calibration);
    }
  });
}

ScoreMaps HeadDecompositions::scores_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const {
  const HeadGroup group = models::layers_of(base_)[static_cast<size_t>(layer)].groups[0];
  const int64_t dim = group.qk_dim, shared = group.heads / group.key_value_heads();
  if (qk_ == QkMethod::pairs_even) return {};
  if (!needs_of(qk_).any()) {
    const std::string path = fmt::format("blocks.{}.attention.0.", layer);
    const auto rows = [&](const char* name, int64_t head) {
      return weight(path + name).slice(0, head * dim, (head + 1) * dim).to(DType::f64).contiguous();  // (d, D)
    };
    ScoreWeights weights{.key = rows("k_proj.weight", kv_head)};
    for (int64_t h = kv_head * shared; h < (kv_head + 1) * shared; ++h)
      weights.queries.push_back(rows("q_proj.weight", h));
    return score_maps(qk_, weights);
  }
  ScoreCovariances covariances = covariances_of(layer, kv_head, calibration);
  if (qk_ == QkMethod::whitened_relative) see_turned(covariances, group, layer, calibration.longest);
  return score_maps(qk_, covariances, base_.rope_interleaved);
}

ScoreCovariances HeadDecompositions::covariances_of(int64_t layer, int64_t kv_head,
                                                    const Calibration& calibration) const {
  const HeadGroup group = models::layers_of(base_)[static_cast<size_t>(layer)].groups[0];
  const int64_t shared = group.heads / group.key_value_heads();
  const LayerMoments& moments = calibration.layers[static_cast<size_t>(layer)];
  const ScoreMoments& scores = maps_after_turn(qk_) ? moments.after : moments.before;
  // Softmax ignores what all keys have in common: where keys turn, only their mean after the turn is.
  const bool is_centred = maps_after_turn(qk_) || !models::scheme_of(base_).turns();
  require(!scores.keys().empty(), "compression: the calibration did not look at layer {}", layer);
  ScoreCovariances covariances{.key = calibration.shrunk(scores.keys()[static_cast<size_t>(kv_head)], is_centred)};
  for (int64_t h = kv_head * shared; h < (kv_head + 1) * shared; ++h)
    covariances.queries.push_back(calibration.shrunk(scores.queries()[static_cast<size_t>(h)], false));
  return covariances;
}

ScoreMaps HeadDecompositions::joined_scores_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const {
  const MomentsByHead& keys = calibration.layers[static_cast<size_t>(layer)].joined_keys;
  const std::vector<Tensor> first = covariances_of(layer, kv_head, calibration).queries,
                            second = covariances_of(layer, kv_head + 1, calibration).queries;
  // Every query sees the joined key through its own head's half: the halves' moments, without what is between them.
  const ScoreCovariances both{.queries = {beside(sum_of(first), sum_of(second))},
                              .key = calibration.shrunk(keys.at(static_cast<size_t>(kv_head)), true)};
  ScoreMaps maps = score_maps(qk_, both, base_.rope_interleaved);
  const Tensor map = maps.queries.at(0).right;  // (2d, 2d)
  const int64_t dim = map.dim(1) / 2;
  maps.queries.clear();
  for (const int64_t half : {0, 1})
    for (size_t h = 0; h < first.size(); ++h)
      maps.queries.push_back({{}, map.slice(1, half * dim, (half + 1) * dim).contiguous()});  // (2d, d)
  return maps;
}

void HeadDecompositions::see_turned(ScoreCovariances& covariances, const HeadGroup& group, int64_t layer,
                                    int64_t length) const {
  std::vector<double> frequencies(static_cast<size_t>(group.qk_dim / 2), 0.0);
  if (models::scheme_of(base_).turns()) frequencies = models::rope_frequencies(base_, group, layer, length);
  const auto seen = [&](const Tensor& moment, bool back) {
    return turned_moment(moment, frequencies, base_.rope_interleaved, length, back);  // (d, d)
  };
  covariances.seen_key = seen(covariances.key, true);
  std::vector<Tensor> queries;
  for (const Tensor& query : covariances.queries) queries.push_back(seen(query, false));
  covariances.seen_queries = sum_of(queries);
}

Tensor HeadDecompositions::output_weights(int64_t layer, int64_t kv_head) const {
  const HeadGroup group = models::layers_of(base_)[static_cast<size_t>(layer)].groups[0];
  const int64_t dim = group.v_dim, shared = group.heads / group.key_value_heads();
  const Tensor& whole = weight(fmt::format("blocks.{}.attention.o_proj.weight", layer));  // (D, H·d)
  std::vector<Tensor> outputs;
  for (int64_t h = kv_head * shared; h < (kv_head + 1) * shared; ++h)
    outputs.push_back(whole.slice(1, h * dim, (h + 1) * dim).to(DType::f64).contiguous());  // (D, d)
  return engine::concat(outputs, 0);
}

ValueMaps HeadDecompositions::joined_values_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const {
  const MomentsByHead& outputs = calibration.layers[static_cast<size_t>(layer)].joined_outputs;
  return value_maps(beside(output_weights(layer, kv_head), output_weights(layer, kv_head + 1)),
                    calibration.shrunk(outputs.at(static_cast<size_t>(kv_head)), false));
}

ValueMaps HeadDecompositions::values_of(int64_t layer, int64_t kv_head, const Calibration& calibration) const {
  const HeadGroup group = models::layers_of(base_)[static_cast<size_t>(layer)].groups[0];
  const int64_t shared = group.heads / group.key_value_heads();
  const MomentsByHead& moments = calibration.layers[static_cast<size_t>(layer)].outputs;
  require(!moments.empty(), "compression: the calibration did not look at layer {}", layer);
  std::vector<Tensor> own;  // (d, d) of each query head
  for (int64_t h = kv_head * shared; h < (kv_head + 1) * shared; ++h)
    own.push_back(moments[static_cast<size_t>(h)].moment(false));
  return value_maps(output_weights(layer, kv_head), calibration.shrunk(sum_of(own)));
}

const LayerMaps& HeadDecompositions::maps_of(int64_t layer) const {
  const auto at = layers_.find(layer);
  require(at != layers_.end(), "compression: layer {} was not taken apart", layer);
  return at->second;
}

double HeadDecompositions::tail(const HeadPlace& place, int64_t rank) const {
  const LayerMaps& maps = maps_of(place.layer);
  const auto at = static_cast<size_t>(place.kv_head);
  const std::vector<double>& tails = place.is_vo ? (place.is_joined ? maps.joined_values : maps.values).at(at).tails
                                                 : (place.is_joined ? maps.joined_scores : maps.scores).at(at).tails;
  require(!tails.empty(), "compression: {} does not tell what a rank leaves out", name_of(qk_));
  return tails.at(static_cast<size_t>(rank));
}

models::ModelEdit HeadDecompositions::edit(const CompressionPlan& plan) const {
  require(plan.qk == qk_ || !changes_any(plan.qk_ranks), "compression: a plan of qk {}, taken apart by {}",
          name_of(plan.qk), name_of(qk_));
  require(plan.vo == vo_ || !changes_any(plan.vo_ranks), "compression: a plan of vo {}, taken apart by {}",
          name_of(plan.vo), name_of(vo_));
  models::ModelEdit out{.config = compressed_config(base_, plan), .weights = {}};
  const std::set<int64_t> changed = changed_layers(plan);
  if (changed.empty()) return out;
  std::vector<models::LayerConfig> layers = models::layers_of(out.config);
  for (const int64_t layer : changed) {
    LayerMaps own = maps_of(layer);
    if (!plan.cache.empty())
      for (auto* values : {&own.values, &own.joined_values})
        std::transform(values->begin(), values->end(), values->begin(), with_weighed_values);
    layers[static_cast<size_t>(layer)].groups = write_layer(base_, plan, layer, weights_, own, out.weights);
  }
  out.config = with_layers(std::move(out.config), std::move(layers));
  return out;
}

}  // namespace headroom::tasks
