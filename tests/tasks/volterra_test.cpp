#include "tasks/volterra.h"

#include <cmath>

#include "engine/error.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using engine::Rng;

TEST_CASE("a Volterra target by hand") {
  const Volterra task({.terms = {{1, 2, 0.5}, {0, 0, 1.0}}, .token_dim = 1, .length = 4});
  CHECK(task.lags() == std::vector<int64_t>{0, 1, 2});
  // 0.5 x_{t-1} x_{t-2} + x_t^2
  CHECK(task.target(Tensor::from<float>({1, 4, 1}, {2, 3, 5, 7})).to_vector<float>() ==
        std::vector<float>{4, 9, 25 + 3, 49 + 7.5});
}

TEST_CASE("the exponential kernel is the square of a weighted sum") {
  const Volterra task({.terms = exponential_terms(6), .token_dim = 2, .length = 12});
  Rng rng(4);
  const Tensor x = engine::random_normal({1, 12, 2}, 0, 1, rng.take("x", 24));
  const std::vector<float> y = task.target(x).to_vector<float>(), values = x.to_vector<float>();
  for (int64_t t = 0; t < 12; ++t) {
    for (int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (int64_t s = 0; s <= std::min<int64_t>(t, 6); ++s)
        sum += std::exp(-0.5 * static_cast<double>(s)) * values[static_cast<size_t>((t - s) * 2 + j)];
      CHECK(y[static_cast<size_t>(t * 2 + j)] == Approx(sum * sum).margin(1e-5));
    }
  }
}

TEST_CASE("exact products of the true tokens are the target") {
  const Volterra task({.terms = {{1, 2, 0.5}, {0, 2, -1.0}},
                       .token_dim = 2,
                       .length = 6,
                       .first_position = 2,
                       .input = VolterraInput::rademacher,
                       .products = Products::exact});
  REQUIRE(task.model_interface().output_dim == 6);
  const Batch batch = task.evaluation(Split::test, 3);
  const std::vector<float> x = batch.input.to_vector<float>();
  Tensor output = Tensor::zeros({3, 6, 6});  // x_t, x_{t-1}, x_{t-2} side by side
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t t = 2; t < 6; ++t)
      for (int64_t lag = 0; lag < 3; ++lag)
        for (int64_t j = 0; j < 2; ++j)
          output.mutable_data<float>()[(b * 6 + t) * 6 + lag * 2 + j] =
              x[static_cast<size_t>((b * 6 + t - lag) * 2 + j)];
  CHECK(task.loss(Var(output), batch).value().item() == Approx(0).margin(1e-12));
  const auto meter = task.meter();
  meter->add(output, batch);
  CHECK(meter->result().at("error_l2") == Approx(0).margin(1e-6));
  const auto pairs = task.predictions(output, batch);
  REQUIRE(pairs.size() == 3 * 4 * 2);
  for (const auto& [want, got] : pairs) CHECK(want == Approx(got));
}

TEST_CASE("tokens of plus and minus one, both about as often") {
  const Volterra task({.terms = {{1, 1, 1}}, .token_dim = 4, .length = 64, .input = VolterraInput::rademacher});
  Rng rng(9);
  const Batch batch = task.train_batch(0, 32, rng);
  double sum = 0;
  for (const float value : batch.input.to_vector<float>()) {
    REQUIRE(std::abs(value) == 1);
    sum += value;
  }
  CHECK(std::abs(sum) < 5 * std::sqrt(32.0 * 64 * 4));
  CHECK(task.train_batch(1, 32, rng).input.to_vector<float>() != batch.input.to_vector<float>());
}

TEST_CASE("the mean norm of the error, over scored positions") {
  const Volterra task({.terms = {{1, 1, 1}}, .token_dim = 2, .length = 3, .first_position = 1});
  const Batch batch{.input = Tensor::zeros({1, 3, 2}), .target = Tensor::from<float>({1, 3, 2}, {9, 9, 0, 0, 1, 1})};
  const auto meter = task.meter();
  meter->add(Tensor::from<float>({1, 3, 2}, {0, 0, 3, 4, 1, 1}), batch);
  CHECK(meter->result().at("error_l2") == Approx(2.5));
  CHECK(meter->result().at("mse") == Approx(25 / 4.0));
}

TEST_CASE("a Volterra config out of range is refused") {
  CHECK_THROWS_WITH(Volterra({}), "terms: empty, expected at least one pair of lags");
  CHECK_THROWS_WITH(Volterra({.terms = {{1, 9, 1}}, .length = 6}),
                    "terms: lags (1, 9) are out of range: expected 0 <= lag < length = 6");
}
