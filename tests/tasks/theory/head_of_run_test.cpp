// Heads of trained models: what the lemmas' studies take for a head is what the model computes.
#include "tasks/measure/head_source.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/rope/rope.h"
#include "models/positions.h"
#include "models/safetensors/safetensors.h"
#include "models/transformer.h"
#include "tasks/measure/head_measurements.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;
using engine::DType, engine::Tensor;
using models::Norm, models::NormPlace, models::Positions, models::TransformerConfig;

namespace {

constexpr int64_t length = 9;

/// Two groups: four heads of width 4 that share two keys, and one of width 6.
TransformerConfig config_with(Positions positions) {
  TransformerConfig c;
  c.layers = 2;
  c.width = 16;
  c.groups = {{.heads = 4, .qk_dim = 4, .v_dim = 3, .kv_heads = 2}, {.heads = 1, .qk_dim = 6, .v_dim = 3}};
  c.max_length = length;
  c.vocab = c.output_dim = 7;
  c.causal = true;
  c.positions = positions;
  c.rope_base = 50;
  c.init.embedding_std = c.init.position_std = 1;
  return c;
}

/// [model] of a trial's config, as a run records it.
nlohmann::json record_of(const TransformerConfig& c) {
  nlohmann::json model = {{"causal", c.causal},
                          {"positions", models::name_of(c.positions)},
                          {"rope_base", c.rope_base},
                          {"logit_scale", nullptr},
                          {"norm", models::name_of(c.norm)},
                          {"norm_place", models::name_of(c.norm_place)},
                          {"norm_eps", c.norm_eps}};
  if (c.logit_scale) model["logit_scale"] = *c.logit_scale;
  const auto tables = [](const std::vector<models::HeadGroup>& groups) {
    nlohmann::json list = nlohmann::json::array();
    for (const models::HeadGroup& g : groups)
      list.push_back({{"heads", g.heads}, {"qk_dim", g.qk_dim}, {"v_dim", g.v_dim}, {"kv_heads", g.kv_heads}});
    return list;
  };
  model["groups"] = tables(c.groups);
  for (const models::LayerConfig& layer : c.unequal_layers)
    model["layer"].push_back({{"groups", tables(layer.groups)}});
  return model;
}

/// A model in f64 and the run that kept its weights.
struct Kept {
  explicit Kept(const TransformerConfig& config) : model(config, rng, DType::f64) {
    write("a", record_of(config), weights());
  }
  models::NamedTensors weights() const {
    models::NamedTensors all;
    for (const models::Parameter& p : model.parameters()) all.emplace_back(p.name, p.var.value());
    return all;
  }
  /// The seed: how many letters the trial has.
  void write(const std::string& trial, const nlohmann::json& record, const models::NamedTensors& tensors) const {
    std::filesystem::create_directories(run.path() / "weights");
    models::write_safetensors(run.path() / "weights" / (trial + ".safetensors"), tensors,
                              {{"config", nlohmann::json{{"model", record}, {"seed", trial.size()}}.dump()}});
  }
  HeadSource source(int64_t head = 0) const { return {.run = run.path(), .head = head}; }

  TemporaryFolder run;
  engine::Rng rng{3};
  models::Transformer model;
};

/// The largest difference between the model's attention in layer 0 and softmax of what the maps say.
double worst(const Kept& kept, int64_t group, int64_t first, int64_t heads) {
  engine::Rng rng(11);
  const Tensor ids = engine::random_integers({1, length}, 0, 7, rng.take("vocabulary", length));
  std::vector<Tensor> probabilities;
  kept.model.forward(ids, {.probabilities = &probabilities});
  const auto* p = probabilities[static_cast<size_t>(group)].data<double>();  // (1, H, T, T)
  double difference = 0;
  for (int64_t head = 0; head < heads; ++head) {
    const HeadSource source = kept.source(first + head);
    const HeadMaps maps = load_head(source, 0);
    const Tensor x = head_tokens(source, maps, HeadTokens::embedding, length, 0, 11);
    Tensor q = engine::matmul(x, maps.wq, true, true), k = engine::matmul(x, maps.wk, true, true);  // (T, d_H)
    if (maps.rope_base) {
      const engine::Shape shape = q.shape(), turned{1, length, 1, q.dim(1)};
      const Tensor at = models::position_indices(length);
      q = engine::rope(q.reshape(turned), at, *maps.rope_base, false).reshape(shape);
      k = engine::rope(k.reshape(turned), at, *maps.rope_base, false).reshape(shape);
    }
    const Tensor z = engine::matmul(q, k, false, true);  // (T, T)
    for (int64_t l = 0; l < length; ++l) {
      std::vector<double> e;
      double sum = 0;
      for (int64_t j = 0; j <= l; ++j) {
        e.push_back(
            std::exp(maps.scale * z.data<double>()[l * length + j] - maps.alibi_slope * static_cast<double>(l - j)));
        sum += e.back();
      }
      for (size_t j = 0; j < e.size(); ++j)
        difference = std::max(difference, apart(e[j] / sum, p[(head * length + l) * length + static_cast<int64_t>(j)]));
    }
  }
  return difference;
}

}  // namespace

TEST_CASE("maps, biases, scale, slopes, rotation and tokens are the model's: its attention comes out") {
  for (const models::PositionScheme& scheme : models::position_schemes()) {
    for (const bool has_biases : {false, true}) {
      for (const Norm norm : {Norm::layer_norm, Norm::rms_norm, Norm::none}) {
        CAPTURE(scheme.name, has_biases, models::name_of(norm));
        TransformerConfig config = config_with(scheme.positions);
        config.attention_bias = has_biases;
        config.norm = norm;
        const Kept kept(config);
        CHECK(worst(kept, 0, 0, 4) < 1e-12);
        CHECK(worst(kept, 1, 4, 1) < 1e-12);
      }
    }
  }
  TransformerConfig post = config_with(Positions::learned);
  post.norm_place = NormPlace::post;
  post.logit_scale = 0.3;
  CHECK(worst(Kept(post), 0, 0, 4) < 1e-12);
}

TEST_CASE("the studies' inequalities hold on trained heads, and rotary positions are theirs") {
  for (const Positions positions : {Positions::learned, Positions::rope, Positions::alibi}) {
    CAPTURE(models::name_of(positions));
    const Kept kept(config_with(positions));
    const HeadSource head = kept.source(1);
    const Metrics softmax = SoftmaxBound({.head = head, .tokens = HeadTokens::embedding, .length = 9}).compute(0);
    CHECK(softmax.at("violations") == 0);
    CHECK(softmax.at("largest_logit") <= softmax.at("delta"));
    CHECK(softmax.at("largest_logit") > 0);
    const RopeBound rope({.head = head, .length = 9, .rank = 2, .pairing = Pairing::interleaved, .base = 3});
    const RopeBound own({.head = head, .length = 9, .rank = 2, .pairing = Pairing::half_split, .base = 50});
    CHECK((rope.compute(0) == own.compute(0)) == (positions == Positions::rope));
    CHECK(own.compute(0).at("map_error") <= own.compute(0).at("map_bound"));
    const SvdBound svd({.head = head, .tokens = HeadTokens::embedding, .length = 9, .rank = 2});
    if (positions != Positions::rope) CHECK(svd.compute(0).at("violations") == 0);
    else CHECK_THROWS_WITH(svd.compute(0), contains("the head has rotary positions"));
    CHECK(svd.data_hashes().begin()->second.size() == 64);
  }
  const HeadMaps biased = load_head(Kept(config_with(Positions::learned)).source(), 0);
  CHECK(biased.wq.shape() == engine::Shape{4, 17});
  CHECK(biased.scale == 0.5);
}

TEST_CASE("what a lemma cannot speak of is refused") {
  TransformerConfig config = config_with(Positions::none);
  config.causal = false;
  const Kept both_ways(config);
  CHECK_THROWS_WITH(SoftmaxBound({.head = both_ways.source(), .length = 4}).compute(0),
                    contains("was trained without a causal mask"));
  CHECK_THROWS_WITH(SvdBound({.head = both_ways.source(), .length = 4, .rank = 2}).compute(0),
                    contains("was trained without a causal mask"));
  CHECK(RopeBound({.head = both_ways.source(), .length = 4, .rank = 2}).compute(0).at("tightness") > 1);

  const Kept kept(config_with(Positions::learned));
  const HeadSource head = kept.source();
  CHECK_THROWS_WITH(SoftmaxBound({.head = head, .tokens = HeadTokens::embedding, .length = 10}).compute(0),
                    "length: 9 learned positions, as many tokens at most; got 10");
  CHECK_THROWS_WITH(SvdBound({.head = head, .length = 4, .rank = 4}).compute(0),
                    contains("expected 1 <= rank < d_H = 4"));
  CHECK_THROWS_WITH(SoftmaxBound({.head = head, .alibi_slope = 1}), contains("a trained head has its model's own"));
  CHECK_THROWS_WITH(SoftmaxBound({.tokens = HeadTokens::embedding}), contains("a random head has no embedding"));
  CHECK_THROWS_WITH(SoftmaxBound({.head = {.run = "r", .layer = 1}, .tokens = HeadTokens::embedding}),
                    "tokens: the embedding feeds layer 0, not layer 1");
  TransformerConfig numbers = config_with(Positions::none);
  numbers.vocab = 0;
  numbers.input_dim = 3;
  CHECK_THROWS_WITH(embedded_tokens(Kept(numbers).source(), 4, 0), contains("has no vocabulary to draw tokens from"));
}

TEST_CASE("which weights, which layer, which head") {
  const TemporaryFolder empty;
  CHECK_THROWS_WITH(RopeBound({.head = {.run = empty.path()}}).compute(0),
                    contains("has no weights of trained models; run its study with --set train.keep_weights=true"));
  const Kept kept(config_with(Positions::none));
  CHECK_THROWS_WITH(load_head(kept.source(5), 0), contains("layer 0 has 5 heads, there is no head 5"));
  CHECK_THROWS_WITH(load_head({.run = kept.run.path(), .layer = 2}, 0), contains("there is no layer 2"));
  const HeadMaps shared = load_head(kept.source(2), 0), with = load_head(kept.source(3), 0);
  CHECK(shared.wk.to_vector<double>() == with.wk.to_vector<double>());
  CHECK(shared.wq.to_vector<double>() != with.wq.to_vector<double>());

  Kept other(config_with(Positions::alibi));
  kept.write("bc", record_of(other.model.config()), other.weights());
  CHECK_THROWS_WITH(load_head(kept.source(), 0),
                    contains("has the weights of 2 models, a and bc among them: trial = "));
  CHECK(load_head({.run = kept.run.path(), .seed = 1}, 0).alibi_slope == 0);
  CHECK(load_head({.run = kept.run.path(), .seed = 2}, 0).alibi_slope == Approx(4));
  CHECK_THROWS_WITH(load_head({.run = kept.run.path(), .seed = 3}, 0),
                    contains("has no weights of a trial … of seed 3"));
  CHECK(load_head({.run = kept.run.path(), .trial = "a"}, 0).alibi_slope == 0);
  CHECK(load_head({.run = kept.run.path(), .trial = "b"}, 0).alibi_slope == Approx(4));
  CHECK_THROWS_WITH(load_head({.run = kept.run.path(), .trial = "d"}, 0), contains("has no weights of a trial d"));
}

TEST_CASE("heads of unequal layers are found; those that are more than two maps are refused") {
  TransformerConfig unequal = config_with(Positions::none);
  unequal.unequal_layers = {{.groups = unequal.groups}, {.groups = {{.heads = 1, .qk_dim = 5, .v_dim = 3}}}};
  unequal.groups.clear();
  const Kept kept(unequal);
  CHECK(load_head(kept.source(4), 0).wq.dim(0) == 6);
  CHECK(load_head({.run = kept.run.path(), .layer = 1}, 0).wq.dim(0) == 5);
  const auto refusal = [](const TransformerConfig& config) {
    const Kept other(config);
    return testing::error_of([&] { load_head(other.source(), 0); });
  };
  TransformerConfig c = config_with(Positions::none);
  c.qk_norm = true;
  CHECK_THAT(refusal(c), contains("its queries and keys are normed"));
  c.qk_norm = false, c.k_bias = false;
  CHECK_THAT(refusal(c), contains("one of queries and keys has biases"));
  c.k_bias = true, c.groups[0].k_rank = 2;
  CHECK_THAT(refusal(c), contains("k_proj is two factors"));
  c.groups[0].k_rank = 0, c.groups[0].q_rank = 2;
  CHECK_THAT(refusal(c), contains("q_proj is two factors"));
}

TEST_CASE("weights that do not fit their config, or are no numbers") {
  const Kept kept(config_with(Positions::none));
  const auto broken = [&](const nlohmann::json& record, const models::NamedTensors& weights) {
    kept.write("a", record, weights);
    return [&] { load_head(kept.source(), 0); };
  };
  const nlohmann::json record = record_of(kept.model.config());
  models::NamedTensors diverged = kept.weights();
  for (auto& [name, tensor] : diverged)
    if (name == "blocks.0.attention.0.k_proj.weight") tensor = Tensor::full(tensor.shape(), NAN, DType::f64);
  CHECK_THROWS_WITH(broken(record, diverged)(), contains("blocks.0.attention.0.k_proj.weight: holds nan"));
  nlohmann::json wider = record;
  wider["groups"][0]["qk_dim"] = 8;
  CHECK_THROWS_WITH(broken(wider, kept.weights())(), contains("do not fit the config's 4 heads of width 8"));
  nlohmann::json poorer = record;
  poorer.erase("positions");
  CHECK_THROWS_WITH(broken(poorer, kept.weights())(), contains("the trial's config lacks model.positions"));
}
