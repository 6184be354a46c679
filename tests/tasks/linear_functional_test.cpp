#include "tasks/linear_functional.h"

#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"
#include "models/transformer.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using engine::Rng;
using engine::Shape;

TEST_CASE("the target of a 2-gram, by hand") {
  const LinearFunctional task({.kernel = {.n = 2}, .token_dim = 1, .length = 5});
  const Tensor x = Tensor::from<float>({1, 5, 1}, {1, 10, 100, 1000, 10000});
  CHECK(task.target(x).to_vector<float>() == std::vector<float>{0, 1, 11, 110, 1100});
}

TEST_CASE("a memory longer than the sequence reaches its first token") {
  const LinearFunctional task({.kernel = {.n = 9}, .token_dim = 1, .length = 3});
  CHECK(task.kernel().size() == 2);
  CHECK(task.target(Tensor::from<float>({1, 3, 1}, {1, 2, 4})).to_vector<float>() == std::vector<float>{0, 1, 3});
}

TEST_CASE("sequences and channels do not mix") {
  const LinearFunctional task({.kernel = {.n = 1}, .token_dim = 2, .length = 2});
  const Tensor x = Tensor::from<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(task.target(x).to_vector<float>() == std::vector<float>{0, 0, 1, 2, 0, 0, 5, 6});
}

TEST_CASE("samples are N(0, I) or unit vectors, one stream's apart from another's") {
  Rng rng(3), same(3);
  const LinearFunctional normal({.token_dim = 4, .length = 32});
  const Batch batch = normal.sample(64, rng, "data");
  REQUIRE(batch.input.shape() == Shape{64, 32, 4});
  REQUIRE(batch.target.shape() == Shape{64, 32, 4});
  double sum = 0, squares = 0;
  const std::vector<float> values = batch.input.to_vector<float>();
  for (const float v : values) sum += v, squares += double{v} * v;
  const double n = static_cast<double>(values.size());
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(normal.sample(64, same, "data").input.to_vector<float>() == values);
  CHECK(normal.sample(64, same, "data").input.to_vector<float>() != values);
  CHECK(normal.sample(64, rng, "validation").input.to_vector<float>() != values);

  const LinearFunctional unit({.token_dim = 4, .length = 8, .input = TokenInput::unit});
  const std::vector<float> tokens = unit.sample(2, rng, "data").input.to_vector<float>();
  for (size_t row = 0; row < tokens.size(); row += 4) {
    double norm = 0;
    for (size_t j = 0; j < 4; ++j) norm += double{tokens[row + j]} * tokens[row + j];
    CHECK(norm == Approx(1).epsilon(1e-6));
  }
}

TEST_CASE("an odd number of values is drawn whole") {
  Rng rng(1);
  const LinearFunctional task({.kernel = {.n = 1}, .token_dim = 3, .length = 3});
  CHECK(task.sample(1, rng, "data").input.numel() == 9);
  CHECK(task.sample(1, rng, "data").input.numel() == 9);
}

TEST_CASE("loss and metrics leave out the positions before the first") {
  const LinearFunctional task({.kernel = {.n = 1}, .token_dim = 1, .length = 4, .first_position = 2});
  const Batch batch{Tensor::zeros({2, 4, 1}), Tensor::from<float>({2, 4, 1}, {9, 9, 1, 2, 9, 9, 3, 4})};
  const Tensor output = Tensor::from<float>({2, 4, 1}, {0, 0, 1, 1, 0, 0, 1, 4});
  CHECK(task.loss(Var(output), batch).value().item() == Approx((0 + 1 + 4 + 0) / 4.0));
  const auto meter = task.meter();
  meter->add(output, batch);
  const Metrics metrics = meter->result();
  CHECK(metrics.at("mse") == Approx(1.25));
  CHECK(metrics.at("relative_mse") == Approx(1.25 / 1.25));  // Var(1, 2, 3, 4) = 1.25
}

TEST_CASE("predicting the mean has relative error 1") {
  Rng rng(5);
  const LinearFunctional task({.token_dim = 2, .length = 12, .first_position = 4});
  const Batch batch = task.sample(512, rng, "test");
  const auto meter = task.meter();
  for (int64_t begin = 0; begin < 512; begin += 100) {
    const int64_t end = std::min<int64_t>(512, begin + 100);
    const Batch part{batch.input.slice(0, begin, end), batch.target.slice(0, begin, end)};
    meter->add(Tensor::zeros(part.target.shape()), part);
  }
  CHECK(meter->result().at("mse") == Approx(4).epsilon(0.05));  // four terms of variance 1
  CHECK(meter->result().at("relative_mse") == Approx(1).epsilon(1e-3));
}

TEST_CASE("a config out of range, and outputs of another shape, are refused") {
  CHECK_THROWS_WITH(LinearFunctional({.length = 4, .first_position = 4}),
                    "first_position: expected 0 <= first_position < length = 4, got 4");
  CHECK_THROWS_WITH(LinearFunctional({.token_dim = 0}), "token_dim: expected >= 1, got 0");
  CHECK_THROWS_WITH(LinearFunctional({.kernel = {.kind = "bump"}}),
                    "kernel.kind: expected one of n-gram, exponential, polynomial, delta, airy, list, got bump");
  CHECK_THROWS_WITH(LinearFunctional({.kernel = {.kind = "delta", .alpha = 9}, .length = 6}),
                    "kernel: rho(s) is 0 for every s in 1..5");
  const LinearFunctional task({.token_dim = 2, .length = 3});
  const Batch batch{Tensor::zeros({1, 3, 2}), Tensor::zeros({1, 3, 2})};
  CHECK_THROWS_WITH(task.meter()->add(Tensor::zeros({1, 3, 1}), batch),
                    "linear functional: output (1, 3, 1) is not the target's shape (1, 3, 2)");
  CHECK_THROWS_WITH(task.target(Tensor::zeros({1, 3, 3})), "linear functional: tokens (1, 3, 3) are not (B, T, 2)");
}

TEST_CASE("a lag with a rank reads so many directions of a token") {
  const KernelConfig kernel{.kind = "list", .values = {1, 2}, .ranks = {4, 1}};
  const LinearFunctional task({.kernel = kernel, .token_dim = 4, .length = 4});
  const std::vector<double> p = lag_projection(kernel, 2, 4).to_vector<double>();  // of rank 1
  const Tensor x = Tensor::from<float>({1, 4, 4}, {1, 0, 2, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<float> y = task.target(x).to_vector<float>();
  for (size_t j = 0; j < 4; ++j) {
    CHECK(y[4 + j] == x.to_vector<float>()[j]);  // lag 1 is whole
    CHECK(y[8 + j] == Approx((j % 2 == 1 ? (j == 1 ? 3 : 1) : 0) + 2 * (p[j * 4] + 2 * p[j * 4 + 2])).margin(1e-6));
    CHECK(y[12 + j] == Approx(2 * (3 * p[j * 4 + 1] + p[j * 4 + 3])).margin(1e-6));
  }
  CHECK_THROWS_WITH(LinearFunctional({.kernel = {.ranks = {4, 5}}, .token_dim = 4}),
                    "kernel.ranks: the rank of lag 2 is 5: expected 1 to 4");
  CHECK_THROWS_WITH(LinearFunctional({.length = 8, .attention_lags = 8}),
                    "attention_lags: expected 0 to 16 and below length = 8, got 8");
}

namespace {

/// A model of one layer with ALiBi alone for a task of tokens 4 wide.
models::TransformerConfig alibi_model(int64_t heads, int64_t v_dim) {
  models::TransformerConfig c;
  c.width = 16;
  c.groups = {{.heads = heads, .qk_dim = 2, .v_dim = v_dim}};
  c.max_length = 24;
  c.input_dim = c.output_dim = 4;
  c.causal = true;
  c.positions = models::Positions::alibi;
  c.norm = models::Norm::none;
  return c;
}

/// Relative error of a model that the task has constructed, over positions from 8 on.
double constructed_error(const LinearFunctional& task, const models::TransformerConfig& config, Construct what) {
  Rng rng(3);
  const models::Transformer model(config, rng);
  task.construct(model, what);
  const Batch batch = task.evaluation(Split::test, 32);
  const auto meter = task.meter();
  meter->add(model.forward(batch.input).value(), batch);
  return meter->result().at("relative_mse");
}

}  // namespace

TEST_CASE("a linear functional's construction solves it before any training") {
  const LinearFunctional task({.kernel = {.n = 2}, .token_dim = 4, .length = 24, .first_position = 8});
  CHECK(constructed_error(task, alibi_model(6, 4), Construct::weights) < 0.05);
  CHECK(constructed_error(task, alibi_model(12, 2), Construct::weights) <
        0.05);                                                                 // two heads for one of the token's width
  CHECK(constructed_error(task, alibi_model(6, 4), Construct::slopes) > 0.5);  // drawn values still
  const LinearFunctional ranked(
      {.kernel = {.n = 2, .ranks = {4, 1}}, .token_dim = 4, .length = 24, .first_position = 8});
  CHECK(constructed_error(ranked, alibi_model(6, 4), Construct::weights) < 0.05);
  CHECK(constructed_error(ranked, alibi_model(24, 1), Construct::weights) < 0.05);
  // As many heads as the farthest lag fetch nothing from there.
  CHECK(constructed_error(task, alibi_model(2, 4), Construct::weights) > 0.4);
}

TEST_CASE("a construction says what does not fit") {
  const LinearFunctional task({.kernel = {.n = 2}, .token_dim = 4, .length = 24});
  const auto refused = [&](auto change) {
    models::TransformerConfig c = alibi_model(4, 4);
    change(c);
    return [=] {
      constructed_error(LinearFunctional({.kernel = {.n = 2}, .token_dim = 4, .length = 24}), c, Construct::weights);
    };
  };
  CHECK_THROWS_WITH(refused([](auto& c) { c.positions = models::Positions::rope; })(),
                    "construction: expected a causal model with ALiBi, got rope");
  CHECK_THROWS_WITH(refused([](auto& c) { c.layers = 2; })(), "construction: expected one layer of heads of one shape");
  CHECK_THROWS_WITH(refused([](auto& c) { c.groups[0].v_dim = 3; })(),
                    "construction: expected values of a width that divides d = 4, or of at least 4, got 3");
  CHECK_THROWS_WITH(refused([](auto& c) { c.ffn_width = 8; })(),
                    "construction: expected norm = none, no feed-forward network and a readout of one layer");
  CHECK_THROWS_WITH(refused([](auto& c) { c.width = 7; })(),
                    "construction: a width of 7 does not hold the token and its target, 2·4");
  CHECK_THROWS_WITH(refused([](auto& c) { c.groups[0] = {.heads = 1, .qk_dim = 2, .v_dim = 2}; })(),
                    "construction: 1 heads of width 2 do not read all 4 coordinates");
  CHECK_THROWS_WITH(
      refused([](auto& c) { c.groups[0].v_rank = 2; })(),
      "construction: the model has no 'blocks.0.attention.0.v_proj.weight': it needs a whole matrix there");
}

TEST_CASE("attention by lag beside the plan: heads that fetch a lag each, and ALiBi's windows") {
  const LinearFunctional task({.kernel = {.n = 2}, .token_dim = 4, .length = 24, .attention_lags = 3});
  const Batch batch = task.evaluation(Split::test, 8);
  models::TransformerConfig c = alibi_model(8, 4);
  c.logit_scale = 1e-9;
  c.alibi_slope_first = c.alibi_slope_last = std::log(2.0);  // weights 1/2, 1/4, 1/8, …: a mean lag of 1
  Rng rng(3);
  const models::Transformer model(c, rng);
  const Metrics metrics = task.probes(model, batch);
  CHECK(metrics.at("peaks_at_lag_0") == 8);
  CHECK(metrics.at("centres_at_lag_1") == 8);
  CHECK(metrics.at("share_at_lag_1") == Approx(0.25).epsilon(0.02));
  CHECK(metrics.at("peak_share") == Approx(0.5).epsilon(0.02));
  CHECK(metrics.at("attention_at_lag_2") == Approx(8 * 0.125).epsilon(0.02));
  CHECK(metrics.at("peaks_off_plan") == 1);      // four heads for each of lags 1 and 2
  CHECK(metrics.at("centres_off_plan") == 0.5);  // four of the eight at lag 1 would have to go to lag 2
  c.causal = false;
  c.positions = models::Positions::none;
  CHECK(task.probes(models::Transformer(c, rng), batch).empty());
}
