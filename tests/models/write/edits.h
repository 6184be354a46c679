#pragma once
#include <string>

#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"
#include "models/rope_cache.h"
#include "tests/models/pretrained/checkpoints.h"
#include "tests/support/distance.h"

namespace headroom::testing {

using models::HeadGroup;
using models::LayerConfig;
using models::ModelEdit;
using models::ModelFiles;
using models::TransformerConfig;

/// Asks a base for each weight; what it lacks in that shape is random, and the edit's.
class FilledWeights : public models::WeightSource {
 public:
  explicit FilledWeights(const ModelFiles& base) : base_(base.weights({})) {}
  models::Weight matrix(const std::string& name, int64_t out, int64_t in, const models::Draw& draw) override {
    try {
      return base_->matrix(name, out, in, draw);
    } catch (const Error&) {
      return models::Weight(random(name, {out, in}));
    }
  }
  models::Var tensor(const std::string& name, const engine::Shape& shape, const models::Draw& draw) override {
    try {
      return base_->tensor(name, shape, draw);
    } catch (const Error&) {
      return random(name, shape);
    }
  }
  engine::DType dtype() const override { return engine::DType::f32; }
  const models::NamedTensors& made() const { return made_; }

 private:
  models::Var random(const std::string& name, const engine::Shape& shape) {
    const engine::Tensor values = engine::random_normal(shape, 0, 0.4, rng_.take("init", shape.numel()));
    made_.emplace_back(name, values);
    return models::Var(values, false);
  }
  std::unique_ptr<models::WeightSource> base_;
  engine::Rng rng_{7};
  models::NamedTensors made_;
};

/// An edit of that config with random weights where the base's do not fit.
inline ModelEdit edit_of(const ModelFiles& base, const TransformerConfig& config) {
  FilledWeights source(base);
  const models::Transformer model(config, source);
  return {config, source.made()};
}

/// The base's config with layers that may be changed one by one.
inline TransformerConfig with_own_layers(TransformerConfig config) {
  config.unequal_layers = layers_of(config);
  config.groups.clear();
  config.ffn_width = config.o_rank = 0;
  return config;
}

/// Factors for each head: queries of rank 2 and keys of rank 1.
inline TransformerConfig with_head_factors(const TransformerConfig& base) {
  TransformerConfig c = with_own_layers(base);
  for (LayerConfig& layer : c.unequal_layers) layer.groups[0].q_head_rank = 2, layer.groups[0].k_head_rank = 1;
  return c;
}

/// The last layer's heads each in a group with factors of another rank, and keys of their own.
inline TransformerConfig with_split_heads(const TransformerConfig& base) {
  TransformerConfig c = with_own_layers(base);
  LayerConfig& layer = c.unequal_layers.back();
  const HeadGroup whole = layer.groups[0];
  layer.groups.clear();
  for (int64_t h = 0; h < whole.heads; ++h) {
    HeadGroup one = whole;
    one.heads = 1, one.kv_heads = 0, one.q_rank = 1 + h % 2, one.k_rank = 2 - h % 2;
    layer.groups.push_back(one);
  }
  return c;
}

/// Half of the rotary pairs, every other one from the second on, at the scale of whole heads.
inline TransformerConfig with_fewer_pairs(const TransformerConfig& base) {
  TransformerConfig c = with_own_layers(base);
  for (LayerConfig& layer : c.unequal_layers) {
    HeadGroup& group = layer.groups[0];
    c.logit_scale = 1 / std::sqrt(static_cast<double>(group.qk_dim));
    const std::vector<double> all =
        base.positions == models::Positions::rope ? rope_frequencies(base, group, 0) : std::vector<double>();
    group.rope_frequencies.clear();
    for (size_t i = 1; i < all.size(); i += 2) group.rope_frequencies.push_back(all[i]);
    group.qk_dim = all.empty() ? group.qk_dim / 2 : 2 * static_cast<int64_t>(group.rope_frequencies.size());
  }
  return c;
}

/// Values half as wide in the first layer.
inline TransformerConfig with_narrow_values(const TransformerConfig& base) {
  TransformerConfig c = with_own_layers(base);
  c.unequal_layers[0].groups[0].v_dim /= 2;
  return c;
}

/// Scores in half the width in the first layer.
inline TransformerConfig with_narrow_scores(const TransformerConfig& base) {
  TransformerConfig c = with_own_layers(base);
  c.unequal_layers[0].groups[0].score_dim = c.unequal_layers[0].groups[0].qk_dim / 2;
  return c;
}

/// Pairs at even distances and values as wide as they: a head that is narrower and no more.
inline TransformerConfig with_plain_heads(const TransformerConfig& base) {
  TransformerConfig c = base;
  HeadGroup& group = c.groups[0];
  c.logit_scale = 1 / std::sqrt(static_cast<double>(group.qk_dim));
  const std::vector<double> all = rope_frequencies(base, group, 0);
  group.rope_frequencies.clear();
  for (size_t i = 0; i < all.size(); i += 2) group.rope_frequencies.push_back(all[i]);
  group.qk_dim = group.v_dim = 2 * static_cast<int64_t>(group.rope_frequencies.size());
  return c;
}

inline std::vector<double> logits_of(const models::Transformer& model) {
  const std::vector<int32_t> ids = some_tokens(8);
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return model.forward(engine::Tensor::from({1, 8}, wide)).value().to_vector<double>();
}

/// Largest difference, relative to the largest number.
inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, largest = 0;
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i)
    difference = std::max(difference, apart(a[i], b[i])), largest = std::max(largest, std::abs(a[i]));
  return difference / largest;
}

}  // namespace headroom::testing
