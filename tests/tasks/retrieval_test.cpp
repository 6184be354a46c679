#include "tasks/retrieval.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/error.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::tasks;
using engine::Rng;

TEST_CASE("a retrieval target by hand") {
  const Retrieval task({.features = 2, .token_dim = 2, .length = 3});
  const std::vector<float> a = task.directions().to_vector<float>();
  CHECK(a[0] * a[0] + a[1] * a[1] == Approx(1));
  CHECK(a[2] * a[2] + a[3] * a[3] == Approx(1));
  const std::vector<float> x{0.2f, 0.9f, 0.5f, 0.1f, 0.4f, 0.4f};
  float sum = 0;
  for (int i = 0; i < 4; i += 2)
    sum += std::max({a[i] * x[0] + a[i + 1] * x[1], a[i] * x[2] + a[i + 1] * x[3], a[i] * x[4] + a[i + 1] * x[5]});
  const std::vector<float> y = task.target(Tensor::from<float>({1, 3, 2}, x)).to_vector<float>();
  REQUIRE(y.size() == 3);
  for (const float value : y) CHECK(value == Approx(sum));
}

TEST_CASE("a retrieval target does not depend on the order of the tokens") {
  const Retrieval task({.features = 5, .token_dim = 3, .length = 7});
  Rng rng(4);
  std::vector<float> x = engine::random_uniform({1, 7, 3}, rng, "x").to_vector<float>();
  const float before = task.target(Tensor::from<float>({1, 7, 3}, x)).to_vector<float>()[0];
  std::rotate(x.begin(), x.begin() + 6, x.end());
  CHECK(task.target(Tensor::from<float>({1, 7, 3}, x)).to_vector<float>()[0] == before);
}

TEST_CASE("tokens of a retrieval task are in the unit cube, and its answer is learned by nobody for free") {
  const Retrieval task({});
  const Batch batch = task.evaluation(Split::test, 64);
  for (const float value : batch.input.to_vector<float>()) CHECK((value >= 0 && value < 1));
  const std::vector<float> y = batch.target.to_vector<float>();
  CHECK(std::set<float>(y.begin(), y.end()).size() > 60);  // one for each sequence, but for chance
  const auto meter = task.meter();
  meter->add(batch.target, batch);
  CHECK(meter->result().at("relative_mse") == 0);
  CHECK(task.loss(Var(batch.target), batch).value().item() == 0);
}

TEST_CASE("a retrieval task names what it cannot be") {
  CHECK_THROWS_WITH(Retrieval({.features = 0}), Catch::Contains("features: expected >= 1, got 0"));
  CHECK_THROWS_WITH(Retrieval({.token_dim = 0}), Catch::Contains("token_dim"));
  CHECK_THROWS_WITH(Retrieval({.length = 1}), Catch::Contains("length: expected >= 2, got 1"));
}
