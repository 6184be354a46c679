#include "tasks/induction_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "models/transformer.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using engine::Rng;

namespace {

InductionHeadConfig small() { return {.tokens = 4, .length = 20, .pattern = 5, .repeats = 3, .train_sequences = 10}; }

}  // namespace

TEST_CASE("a pattern stands in every sequence, as often as asked, without overlap") {
  const InductionHead task({.train_sequences = 1});
  for (int64_t i = 0; i < 50; ++i) {
    const auto sequence = task.sequence(3, "test", i);
    REQUIRE(sequence.tokens.size() == 128);
    REQUIRE(sequence.starts.size() == 4);
    const auto begin = sequence.tokens.begin();
    for (size_t r = 1; r < 4; ++r) {
      CHECK(sequence.starts[r] >= sequence.starts[r - 1] + 5);
      CHECK(std::equal(begin + sequence.starts[0], begin + sequence.starts[0] + 5, begin + sequence.starts[r]));
    }
    CHECK(sequence.starts[3] + 5 <= 128);
    CHECK(*std::min_element(begin, sequence.tokens.end()) >= 0);
    CHECK(*std::max_element(begin, sequence.tokens.end()) < 10);
  }
  CHECK(task.sequence(3, "test", 0).tokens != task.sequence(3, "test", 1).tokens);
  CHECK(task.sequence(3, "test", 0).tokens != task.sequence(4, "test", 0).tokens);
  CHECK(task.sequence(3, "test", 0).tokens != task.sequence(3, "validation", 0).tokens);
}

TEST_CASE("the copy target is the next token, inside later patterns and past their first token") {
  const InductionHead task(small());
  const InductionHead::Sequence sequence{{3, 0, 1, 2, 3, 0, 2, 0, 1, 2, 3, 0, 1, 1, 1, 0, 1, 2, 3, 0}, {1, 7, 15}};
  const std::vector<float> y = task.target(sequence);
  std::vector<int64_t> scored;
  for (int64_t t = 0; t < 20; ++t) {
    const float* row = &y[static_cast<size_t>(t * 4)];
    const float sum = std::accumulate(row, row + 4, 0.0f);
    if (sum == 0) continue;
    CHECK(sum == 1);
    CHECK(row[sequence.tokens[static_cast<size_t>(t + 1)]] == 1);
    scored.push_back(t);
  }
  CHECK(scored == std::vector<int64_t>{8, 9, 10, 16, 17, 18});
}

TEST_CASE("the generalized head by its formula") {
  for (const bool sees_current : {false, true}) {
    InductionHeadConfig config{.target = InductionTarget::generalized,
                               .tokens = 3,
                               .length = 20,
                               .train_sequences = 1,
                               .n = 3,
                               .lambda = 0.7,
                               .sees_current = sees_current};
    const InductionHead task(config);
    const auto sequence = task.sequence(1, "test", 0);
    const std::vector<float> y = task.target(sequence);
    for (int64_t t = 0; t < 20; ++t) {
      double weights[3] = {}, sum = 0;
      for (int64_t v = 2; v <= (sees_current ? t : t - 1); ++v) {
        const auto& x = sequence.tokens;
        const int hits = (x[t] == x[v - 1] ? 1 : 0) + (x[t - 1] == x[v - 2] ? 1 : 0);
        weights[x[v]] += std::exp(0.7 * hits);
        sum += std::exp(0.7 * hits);
      }
      for (size_t k = 0; k < 3; ++k)
        CHECK(y[static_cast<size_t>(t) * 3 + k] == Approx(sum > 0 ? weights[k] / sum : 0).margin(1e-6));
    }
  }
}

TEST_CASE("a large lambda is a hard match and overflows nothing") {
  const InductionHead task(
      {.target = InductionTarget::generalized, .tokens = 4, .length = 20, .train_sequences = 1, .n = 2, .lambda = 1e4});
  // The current token, 0, stood before the 2 at v = 4 alone.
  const std::vector<float> y = task.target({{1, 1, 3, 0, 2, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {}});
  CHECK(std::vector<float>(y.begin() + 20, y.begin() + 24) == std::vector<float>{0, 0, 1, 0});
  CHECK(std::all_of(y.begin(), y.end(), [](float value) { return std::isfinite(value); }));
}

TEST_CASE("an epoch shows every sequence once, in an order of the seed") {
  const InductionHead task(small());
  Rng rng(5), other(6);
  std::vector<int64_t> order = task.permutation(5, 0);
  CHECK(order != task.permutation(5, 1));
  CHECK(order != task.permutation(6, 0));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 10; ++i) CHECK(order[static_cast<size_t>(i)] == i);
  // Ten sequences in batches of four: the third batch ends the first epoch and begins the second.
  const int64_t row = 20 * 4;
  std::vector<int64_t> want = task.permutation(5, 0);
  const std::vector<int64_t> second = task.permutation(5, 1);
  want.insert(want.end(), second.begin(), second.end());
  for (const int64_t step : {4, 2, 0, 1, 3}) {  // any order: a pure function of the step
    const std::vector<float> x = task.train_batch(step, 4, rng).input.to_vector<float>();
    for (int64_t i = 0; i < 4; ++i) {
      const auto sequence = task.sequence(0, "sequences", want[static_cast<size_t>(step * 4 + i)]);
      for (int64_t t = 0; t < 20; ++t)
        REQUIRE(x[static_cast<size_t>(i * row + t * 4 + sequence.tokens[static_cast<size_t>(t)])] == 1);
    }
  }
  CHECK(task.train_batch(0, 4, other).input.to_vector<float>() != task.train_batch(0, 4, rng).input.to_vector<float>());
}

TEST_CASE("loss and metrics are over scored rows alone") {
  const InductionHead task(small());
  const Batch batch = task.evaluation(Split::validation, 6);
  const std::vector<float> y = batch.target.to_vector<float>();
  const double scored = std::accumulate(y.begin(), y.end(), 0.0);  // each scored row sums to 1
  REQUIRE(scored == 6 * 2 * 3);
  const Tensor ones = Tensor::full(batch.target.shape(), 1.0);
  // A row of ones against a one-hot row of four: three errors of 1.
  CHECK(task.loss(Var(ones), batch).value().item() == Approx(0.75));
  const auto meter = task.meter();
  meter->add(ones, batch);
  CHECK(meter->result().at("mse") == Approx(0.75));
  CHECK(meter->result().at("error_l2") == Approx(std::sqrt(3.0)));
  const auto mean = task.meter();
  mean->add(Tensor::full(batch.target.shape(), 0.25), batch);
  CHECK(mean->result().at("relative_mse") == Approx(1));
  CHECK(task.predictions(ones, batch).size() == 6 * 2 * 3 * 4);
}

TEST_CASE("an induction head config out of range is refused") {
  CHECK_THROWS_WITH(InductionHead({.length = 12}), "repeats: 4 patterns of 5 tokens do not fit into length 12");
  CHECK_THROWS_WITH(InductionHead({.pattern = 2}), "pattern: expected >= 3, got 2");
}

TEST_CASE("the share of attention that goes to matches, where all earlier tokens get as much") {
  InductionHeadConfig config = small();
  config.attention_lags = 3;
  const InductionHead task(config);
  models::TransformerConfig c;
  c.width = 8;
  c.layers = 2;
  c.groups = {{.heads = 2, .qk_dim = 2, .v_dim = 4}};
  c.max_length = 20;
  c.input_dim = c.output_dim = 4;
  c.causal = true;
  c.positions = models::Positions::none;
  c.logit_scale = 1e-9;
  Rng rng(3);
  const Batch batch = task.evaluation(Split::test, 6);
  const Metrics metrics = task.probes(models::Transformer(c, rng), batch);
  double sum = 0;
  int64_t scored = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const InductionHead::Sequence sequence = task.sequence(evaluation_seed, "test", i);
    const std::vector<float> y = task.target(sequence);
    for (size_t t = 0; t < 20; ++t) {
      if (std::none_of(y.begin() + t * 4, y.begin() + t * 4 + 4, [](float value) { return value != 0; })) continue;
      int64_t matches = 0;
      for (size_t v = 1; v <= t; ++v) matches += sequence.tokens[v - 1] == sequence.tokens[t] ? 1 : 0;
      sum += static_cast<double>(matches) / static_cast<double>(t + 1);
      ++scored;
    }
  }
  CHECK(metrics.at("match_share") == Approx(sum / static_cast<double>(scored)).epsilon(1e-5));
  for (const char* name : {"layer_1_peaks_at_lag_0", "layer_2_share_at_lag_3", "layer_1_peak_share"})
    CHECK(metrics.count(name) == 1);
  CHECK(InductionHead(small()).probes(models::Transformer(c, rng), batch).empty());
}
