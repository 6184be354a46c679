#include "tasks/attention_lags.h"

#include <numeric>

#include "engine/error.h"
#include "tasks/linear_functional.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;

namespace {

models::TransformerConfig config() {
  models::TransformerConfig c;
  c.width = 8;
  c.groups = {{.heads = 2, .qk_dim = 3, .v_dim = 4}, {.heads = 4, .qk_dim = 2, .v_dim = 1, .kv_heads = 2}};
  c.max_length = 7;
  c.input_dim = c.output_dim = 2;
  c.causal = true;
  c.layers = 2;
  return c;
}

}  // namespace

TEST_CASE("attention's probabilities are its weights: rows of one, nothing ahead") {
  engine::Rng rng(3);
  const models::Transformer model(config(), rng);
  const Tensor x = engine::random_normal({3, 7, 2}, 0, 1, rng.take("x", 42));
  std::vector<Tensor> probabilities;
  const Tensor y = model.forward(x, {.probabilities = &probabilities}).value();
  CHECK(y.to_vector<float>() == model.forward(x).value().to_vector<float>());
  REQUIRE(probabilities.size() == 4);  // two layers of two groups
  CHECK(probabilities[0].shape() == engine::Shape{3, 2, 7, 7});
  CHECK(probabilities[3].shape() == engine::Shape{3, 4, 7, 7});
  for (const Tensor& group : probabilities) {
    const std::vector<double> p = group.to_vector<double>();
    for (size_t row = 0; row < p.size() / 7; ++row) {
      CHECK(std::accumulate(p.begin() + row * 7, p.begin() + (row + 1) * 7, 0.0) == Approx(1));
      for (size_t j = row % 7 + 1; j < 7; ++j) CHECK(p[row * 7 + j] == 0);
    }
  }
  CHECK_THROWS_WITH(model.forward(x, {.training = true, .probabilities = &probabilities}),
                    "transformer: probabilities are not given while training");
}

TEST_CASE("attention by lag: even weights where there are no scores, a window under steep slopes") {
  engine::Rng rng(3);
  models::TransformerConfig c = config();
  c.positions = models::Positions::alibi;
  c.logit_scale = 1e-9;
  c.alibi_slope_first = c.alibi_slope_last = 1e-9;
  const LinearFunctional task({.token_dim = 2, .length = 7});
  const Batch batch = task.evaluation(Split::test, 5);
  const Metrics even = attention_by_lag(models::Transformer(c, rng), batch, 4);
  REQUIRE(even.size() == 5);
  // Positions 4, 5, 6 see 5, 6, 7 tokens; six heads.
  for (const auto& [name, value] : even) CHECK(value == Approx(6 * (1 / 5.0 + 1 / 6.0 + 1 / 7.0) / 3).epsilon(1e-5));
  c.alibi_slope_first = c.alibi_slope_last = 30;
  const Metrics steep = attention_by_lag(models::Transformer(c, rng), batch, 4);
  CHECK(steep.at("attention_at_lag_0") == Approx(6));
  CHECK(steep.at("attention_at_lag_1") < 1e-9);
  const Metrics both = attention_by_lag(models::Transformer(c, rng), batch, 4, 2);
  CHECK(both.at("attention_at_lag_0") == Approx(12));
  CHECK_THROWS_WITH(attention_by_lag(models::Transformer(c, rng), batch, 4, 3),
                    "attention by lag: expected 1 to 2 layers, got 3");
  CHECK_THROWS_WITH(attention_by_lag(models::Transformer(c, rng), batch, 7),
                    "attention by lag: lags up to 7 need more than 7 positions");
}

TEST_CASE("attention by lag leaves padding out") {
  engine::Rng rng(3);
  models::TransformerConfig c = config();
  c.positions = models::Positions::alibi;
  c.logit_scale = 1e-9;
  c.alibi_slope_first = c.alibi_slope_last = 1e-9;
  const models::Transformer model(c, rng);
  Batch batch = LinearFunctional({.token_dim = 2, .length = 7}).evaluation(Split::test, 2);
  std::vector<uint8_t> kept(14, 1);
  kept[6] = kept[12] = kept[13] = 0;  // the ends of both sequences: queries 4, 5 and 4 stay
  batch.key_mask = Tensor::from<uint8_t>({2, 7}, kept).to(engine::DType::boolean);
  const Metrics shares = attention_by_lag(model, batch, 4);
  for (const auto& [name, value] : shares) CHECK(value == Approx(6 * (2 / 5.0 + 1 / 6.0) / 3).epsilon(1e-5));
  batch.key_mask = Tensor::full({2, 7}, 0, engine::DType::boolean);
  CHECK_THROWS_WITH(attention_by_lag(model, batch, 4), Catch::Contains("no sequence of 2 has a position from 4 on"));
}

TEST_CASE("each head's lags: they sum to what all heads give, layer by layer") {
  engine::Rng rng(3);
  const models::Transformer model(config(), rng);
  const Batch batch = LinearFunctional({.token_dim = 2, .length = 7}).evaluation(Split::test, 5);
  const std::vector<HeadLags> first = head_lags(model, batch, 4), second = head_lags(model, batch, 4, 1);
  REQUIRE(first.size() == 6);  // of two groups
  const Metrics one = attention_by_lag(model, batch, 4), both = attention_by_lag(model, batch, 4, 2);
  for (size_t s = 0; s <= 4; ++s) {
    double of_first = 0, of_second = 0;
    for (const HeadLags& head : first) of_first += head.share[s];
    for (const HeadLags& head : second) of_second += head.share[s];
    const std::string name = "attention_at_lag_" + std::to_string(s);
    CHECK(one.at(name) == Approx(of_first));
    CHECK(both.at(name) == Approx(of_first + of_second));
  }
  CHECK_THROWS_WITH(head_lags(model, batch, 4, 2), "attention by lag: expected layer 0 to 1, got 2");
  const Metrics metrics = head_lag_metrics(first, "layer_1_");
  CHECK(metrics.size() == head_lag_names(4, "layer_1_").size());
  for (const std::string& name : head_lag_names(4, "layer_1_")) CHECK(metrics.count(name) == 1);
}

TEST_CASE("heads off the plan are those that it would have elsewhere") {
  const auto at = [](int64_t lag) {
    HeadLags head{std::vector<double>(5, 0.0), static_cast<double>(lag)};
    head.share[static_cast<size_t>(lag)] = 1;
    return head;
  };
  const std::vector<HeadLags> heads{at(1), at(1), at(2), at(0)};
  const auto peak = [](const HeadLags& head) { return head.peak(); };
  CHECK(share_off_plan(heads, {{1, 2, 4}, {2, 1, 4}, {3, 1, 4}}, peak) == 0.25);
  CHECK(share_off_plan(heads, {{1, 2, 4}, {2, 2, 4}}, [](const HeadLags& head) { return head.centre(); }) == 0.25);
  CHECK(share_off_plan(heads, {{3, 4, 4}}, peak) == 1);
}
