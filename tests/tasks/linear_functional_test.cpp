#include "tasks/linear_functional.h"

#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"
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
                    "first_position: wants 0 <= first_position < length = 4, got 4");
  CHECK_THROWS_WITH(LinearFunctional({.token_dim = 0}), "token_dim: wants >= 1, got 0");
  CHECK_THROWS_WITH(LinearFunctional({.kernel = {.kind = "bump"}}),
                    "kernel.kind: wants one of n-gram, exponential, polynomial, delta, airy, list, got bump");
  CHECK_THROWS_WITH(LinearFunctional({.kernel = {.kind = "delta", .alpha = 9}, .length = 6}),
                    "kernel: rho(s) is 0 for every s in 1..5");
  const LinearFunctional task({.token_dim = 2, .length = 3});
  const Batch batch{Tensor::zeros({1, 3, 2}), Tensor::zeros({1, 3, 2})};
  CHECK_THROWS_WITH(task.meter()->add(Tensor::zeros({1, 3, 1}), batch),
                    "linear functional: output (1, 3, 1) is not the target's shape (1, 3, 2)");
  CHECK_THROWS_WITH(task.target(Tensor::zeros({1, 3, 3})), "linear functional: tokens (1, 3, 3) are not (B, T, 2)");
}
