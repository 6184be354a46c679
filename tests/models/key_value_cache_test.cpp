#include "models/key_value_cache.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/matmul/matmul.h"
#include "engine/ops/operators.h"
#include "engine/rng.h"
#include "models/costs.h"
#include "models/model_cache.h"
#include "models/transformer.h"
#include "models/weights/sources.h"
#include "tests/models/small_decoder.h"
#include "tests/support/error_of.h"

namespace headroom::models {
namespace {

using engine::DType;
using testing::contains;
using testing::error_of;

/// Tokens [begin, end) of x (B, T, H, d).
Tensor tokens(const Tensor& x, int64_t begin, int64_t end) { return x.slice(1, begin, end); }

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector<float>() == b.to_vector<float>();
}

/// The numbers of the logits of (1, 9) ids: four tokens at once, then one at a time.
std::vector<double> decoded(const Transformer& model, const Tensor& ids, ModelCache& state) {
  std::vector<double> all = model.decode(ids.slice(1, 0, 4), state).to_vector<double>();
  for (int64_t t = 4; t < 9; ++t) {
    const std::vector<double> next = model.decode(ids.slice(1, t, t + 1), state).to_vector<double>();
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

}  // namespace

TEST_CASE("a state that was moved from is empty, and used as such without harm", "[models]") {
  KeyValueCache full;
  full.append(random({2, 3, 1, 4}, 1), random({2, 3, 1, 4}, 2));
  KeyValueCache taken = std::move(full);
  CHECK(taken.length() == 3);
  CHECK(full.length() == 0);  // NOLINT(bugprone-use-after-move)
  CHECK_FALSE(full.keys().defined());
  full.append(random({1, 2, 1, 4}, 1), random({1, 2, 1, 4}, 2));
  CHECK(full.offset() == 2);
  CHECK(error_of([&] { full.scale({}); }) == "key-value cache: it is scaled after 2 tokens");
  TransformerConfig config;
  config.groups = {{.heads = 1, .qk_dim = 4, .v_dim = 4}};
  config.width = 4, config.vocab = config.output_dim = 5;
  ModelCache state(config);
  ModelCache other = std::move(state);
  CHECK(other.length() == 0);
  CHECK(error_of([&] { state.length(); }) == "model cache: it has no layers; was it moved from?");
  CHECK_THROWS_WITH(other.layer(1), contains("model cache: layer 1 of 1"));
}

TEST_CASE("an attention state gives back what was appended, however it was cut", "[models]") {
  const Tensor k = random({2, 300, 3, 4}, 1), v = random({2, 300, 3, 5}, 2);
  for (const int64_t step : {1, 7, 64, 65, 300}) {
    INFO(step);
    KeyValueCache state;
    for (int64_t t = 0; t < 300; t += step)
      state.append(tokens(k, t, std::min<int64_t>(t + step, 300)), tokens(v, t, std::min<int64_t>(t + step, 300)));
    CHECK(state.length() == 300);
    CHECK(state.offset() == 300);
    CHECK(same(state.keys(), k));
    CHECK(same(state.values(), v));
  }
}

TEST_CASE("an attention state grows in blocks and moves its tokens seldom", "[models]") {
  const Tensor k = random({1, 1, 2, 4}, 1), v = random({1, 1, 2, 4}, 2);
  KeyValueCache state;
  std::vector<int64_t> capacities;
  const void* memory = nullptr;
  for (int64_t t = 0; t < 1000; ++t) {
    state.append(k, v);
    const bool moved = state.keys().raw() != memory;
    memory = state.keys().raw();
    CHECK(moved == (capacities.empty() || capacities.back() != state.capacity()));
    if (moved) capacities.push_back(state.capacity());
  }
  CHECK(capacities == std::vector<int64_t>{64, 128, 256, 512, 1024});
  KeyValueCache reserved;
  reserved.reserve(100);
  reserved.append(k, v);
  CHECK(reserved.capacity() == 128);
}

TEST_CASE("the views of an attention state copy nothing, and outlive its growth", "[models]") {
  const Tensor k = random({2, 90, 1, 4}, 1), v = random({2, 90, 1, 4}, 2);
  KeyValueCache state;
  state.append(tokens(k, 0, 60), tokens(v, 0, 60));
  const Tensor before = state.keys();
  CHECK(before.shares_storage(state.keys()));
  state.append(tokens(k, 60, 63), tokens(v, 60, 63));
  CHECK(before.shares_storage(state.keys()));
  state.append(tokens(k, 63, 90), tokens(v, 63, 90));
  CHECK_FALSE(before.shares_storage(state.keys()));
  CHECK(same(before, tokens(k, 0, 60)));
  CHECK(same(state.keys(), k));
}

TEST_CASE("an attention state goes back, forgets its oldest tokens and starts anew", "[models]") {
  const Tensor k = random({1, 80, 2, 3}, 1), v = random({1, 80, 2, 2}, 2);
  KeyValueCache state;
  state.append(tokens(k, 0, 50), tokens(v, 0, 50));
  state.truncate(40);
  state.append(tokens(k, 40, 60), tokens(v, 40, 60));
  CHECK(same(state.values(), tokens(v, 0, 60)));
  state.drop_first(25);
  CHECK(state.length() == 35);
  CHECK(state.offset() == 60);
  CHECK(same(state.keys(), tokens(k, 25, 60)));
  state.append(tokens(k, 60, 80), tokens(v, 60, 80));  // grows: what was dropped is not moved
  CHECK(same(state.keys(), tokens(k, 25, 80)));
  CHECK(state.offset() == 80);
  CHECK_THAT(error_of([&] { state.truncate(24); }), contains("position 24") && contains("[25, 80)"));
  CHECK_THAT(error_of([&] { state.truncate(81); }), contains("position 81"));
  CHECK_THAT(error_of([&] { state.drop_first(56); }), contains("56 tokens of 55"));
  state.truncate(25);
  CHECK(state.length() == 0);
  state.reset();
  CHECK(state.offset() == 0);
  state.append(tokens(k, 0, 0), tokens(v, 0, 0));
  CHECK(state.length() == 0);
  state.append(tokens(k, 3, 5), tokens(v, 3, 5));
  CHECK(same(state.keys(), tokens(k, 3, 5)));
}

TEST_CASE("an attention state refuses what does not fit", "[models]") {
  KeyValueCache state;
  const auto message = [&](const Shape& k, const Shape& v, DType dtype = DType::f32) {
    return error_of([&] { state.append(Tensor::zeros(k, dtype), Tensor::zeros(v, dtype)); });
  };
  CHECK_THAT(message({2, 3, 4}, {2, 3, 4}), contains("(2, 3, 4)"));
  CHECK_THAT(message({2, 3, 4, 5}, {2, 2, 4, 5}), contains("(2, 2, 4, 5)"));
  CHECK_FALSE(state.keys().defined());
  state.append(Tensor::zeros({2, 3, 4, 5}), Tensor::zeros({2, 3, 4, 6}));
  CHECK_THAT(message({1, 1, 4, 5}, {1, 1, 4, 6}), contains("(1, 1, 4, 5)") && contains("(2, 3, 4, 5)"));
  CHECK_THAT(message({2, 1, 3, 5}, {2, 1, 3, 6}), contains("(2, 1, 3, 5)"));
  CHECK_THAT(message({2, 1, 4, 5}, {2, 1, 4, 5}), contains("(2, 1, 4, 5)") && contains("(2, 3, 4, 6)"));
  CHECK_THAT(message({2, 1, 4, 5}, {2, 1, 4, 6}, DType::f64), contains("f64"));
  CHECK(state.length() == 3);
}

TEST_CASE("a model that decodes with a cache in fewer bits sees the keys and values that it rounds", "[models]") {
  TransformerConfig config;
  config.groups = {{.heads = 4, .qk_dim = 32, .v_dim = 64, .kv_heads = 2}};
  config.width = 32, config.layers = 2, config.vocab = config.output_dim = 11;
  config.positions = Positions::rope;
  config.causal = config.qk_norm = true;
  engine::Rng rng(3);
  Transformer model(config, rng);
  for (const Parameter& p : model.parameters())
    if (p.name.find("k_norm") != std::string::npos) p.var.value().mutable_data<float>()[5] = 30;
  const Tensor ids = Tensor::from({1, 9}, std::vector<int64_t>{1, 5, 2, 7, 10, 3, 3, 0, 6});
  const autograd::NoGrad no_grad;
  const std::vector<double> exact = model.forward(ids).value().to_vector<double>();
  for (const engine::BlockFormat format : engine::packed_formats) {
    INFO(engine::traits_of(format).name);
    const std::vector<double> wanted = model.forward(ids, {.rounded_cache = format}).value().to_vector<double>();
    CHECK(wanted != exact);
    ModelCache state(config, true, format);
    const std::vector<double> got = decoded(model, ids, state);
    REQUIRE(got.size() == wanted.size());
    // Sums of the same numbers in another order.
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(1e-4));
    const int64_t row = engine::packed_bytes(format, 32) + engine::packed_bytes(format, 64);
    CHECK(cache_bytes(config, format) == 2 * 2 * row);
    CHECK(state.layer(0)[0].keys().dim(3) + state.layer(0)[0].values().dim(3) == row);
  }
  CHECK(cache_bytes(config) == 2 * 2 * 4 * 96);
  config.groups[0].qk_dim = 24;
  CHECK(error_of([&] { ModelCache(config, true, engine::BlockFormat::q8_0); }) ==
        "pack rows: rows of 24 are no whole blocks of 32 numbers of q8_0");
}

TEST_CASE("keys that are large where queries are small are evened before a cache rounds them", "[models]") {
  const int64_t dim = 64;
  const auto norm_of = [&](const Tensor& weight) {
    NamedWeights source({{"norm.weight", weight}});
    return NormLayer(Norm::rms_norm, dim, 1e-6, WeightScope(source, "norm"));
  };
  const Tensor large = Tensor::full({dim}, 1), small = Tensor::full({dim}, 1);
  for (const int64_t i : {3, 9, 41}) large.mutable_data<float>()[i] = 16, small.mutable_data<float>()[i] = 0.25F;
  for (const bool interleaved : {false, true}) {
    INFO(interleaved);
    const NormLayer q_norm = norm_of(small), k_norm = norm_of(large);
    const auto [by_key, by_query] = even_key_scales(q_norm, k_norm, interleaved);
    REQUIRE(by_key.shape() == Shape{dim});
    const Tensor q = q_norm.forward(Var(random({40, dim}, 1))).value(),
                 k = k_norm.forward(Var(random({40, dim}, 2))).value();
    const auto scores = [](const Tensor& a, const Tensor& b) { return engine::matmul(a, b, false, true); };
    const Tensor exact = scores(q, k);  // (40, 40)
    const auto error = [&](const Tensor& got) {
      double sum = 0;
      for (int64_t i = 0; i < exact.numel(); ++i) sum += std::pow(got.data<float>()[i] - exact.data<float>()[i], 2);
      return sum;
    };
    const auto rounded = [&](const Tensor& k_scales, const Tensor& q_scales) {
      const auto format = engine::BlockFormat::q4_0;
      return scores(engine::turned_rows(q, format, q_scales),
                    engine::unpack_rows(engine::pack_rows(engine::turned_rows(k, format, k_scales), format)));
    };
    CHECK(error(scores(q * by_query, k * by_key)) < 1e-6 * error(rounded({}, {})));
    CHECK(error(rounded(by_key, by_query)) < 0.5 * error(rounded({}, {})));
    for (int64_t i = 0; i < dim; ++i)  // what turns together
      CHECK(by_key.data<float>()[i] == by_key.data<float>()[interleaved ? i ^ 1 : (i + dim / 2) % dim]);
  }
  const auto [even, one_over] = even_key_scales(norm_of(Tensor::zeros({dim})), norm_of(Tensor::zeros({dim})), false);
  CHECK(even.to_vector<float>() == std::vector<float>(dim, 1));
}

TEST_CASE("a model whose heads name the formats of their cache decodes with those", "[models]") {
  using engine::BlockFormat;
  TransformerConfig config;
  config.groups = {{.heads = 2, .qk_dim = 32, .v_dim = 64, .kv_heads = 1},
                   {.heads = 2, .qk_dim = 64, .v_dim = 32, .kv_heads = 2}};
  config.groups[0].key_cache = BlockFormat::q8_0, config.groups[0].value_cache = BlockFormat::q4_0;
  config.width = 64, config.layers = 2, config.vocab = config.output_dim = 11;
  config.positions = Positions::rope;
  config.causal = true;
  engine::Rng rng(3);
  const Transformer model(config, rng);
  const Tensor ids = Tensor::from({1, 9}, std::vector<int64_t>{1, 5, 2, 7, 10, 3, 3, 0, 6});
  const autograd::NoGrad no_grad;
  CHECK(names_cache_types(config));
  // What names nothing is held in f16, or as it is.
  for (const CacheTypes& types : {CacheTypes(BlockFormat::f16, true), named_cache_types()}) {
    const int64_t others = types.all ? 2 : 4;
    CHECK(cache_bytes(config, types) == 2 * (34 + 36 + 2 * others * 96));
    const std::vector<double> wanted = model.forward(ids, {.rounded_cache = types}).value().to_vector<double>();
    ModelCache state(config, true, types);
    const std::vector<double> got = decoded(model, ids, state);
    REQUIRE(got.size() == wanted.size());
    for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]).margin(1e-4));
    CHECK(wanted != model.forward(ids).value().to_vector<double>());
    CHECK(wanted != model.forward(ids, {.rounded_cache = BlockFormat::q8_0}).value().to_vector<double>());
  }
  config.groups[0].qk_dim = 48;
  CHECK_THAT(error_of([&] { ModelCache(config, true, named_cache_types()); }), contains("rows of 48"));
  config.groups[0].qk_dim = 32, config.groups[0].value_cache.reset();
  CHECK_THAT(error_of([&] { (void)ModelCache(config); }), contains("expected both or neither"));
}

}  // namespace headroom::models
