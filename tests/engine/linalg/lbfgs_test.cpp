// L-BFGS on functions whose minima are known.
#include "engine/linalg/lbfgs.h"

#include <cmath>

#include "engine/error.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine::linalg;
using namespace headroom::testing;

namespace {

using Numbers = std::vector<double>;

/// Σ 100 (x_{i+1} − x_i²)² + (1 − x_i)²: 0 at (1, …, 1), down a curved valley.
double rosenbrock(const Numbers& x, Numbers& g) {
  g.assign(x.size(), 0);
  double sum = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
    g[i] += -400 * a * x[i] - 2 * b;
    g[i + 1] += 200 * a;
  }
  return sum;
}

}  // namespace

TEST_CASE("L-BFGS finds the end of Rosenbrock's valley") {
  for (const size_t n : {2, 20}) {
    Numbers start(n, 1);
    for (size_t i = 0; i < n; i += 2) start[i] = -1.2;
    const Minimum found = lbfgs(rosenbrock, start);
    CAPTURE(n, found.steps);
    CHECK(found.value < 1e-18);
    CHECK(found.steps < 200);
    for (const double x : found.x) CHECK(x == Approx(1).epsilon(1e-7));
  }
}

TEST_CASE("L-BFGS solves a quadratic of condition 1e6") {
  const auto quadratic = [](const Numbers& x, Numbers& g) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double scale = std::pow(10.0, 6 * static_cast<double>(i) / static_cast<double>(x.size() - 1));
      g[i] = scale * (x[i] - static_cast<double>(i));
      sum += g[i] * (x[i] - static_cast<double>(i)) / 2;
    }
    return sum;
  };
  const Minimum found = lbfgs(quadratic, Numbers(12, -3));
  for (size_t i = 0; i < 12; ++i) CHECK(found.x[i] == Approx(static_cast<double>(i)).margin(1e-8));
}

TEST_CASE("L-BFGS ends where it is told to, and never above where it began") {
  const Minimum evaluated = lbfgs(rosenbrock, {-1.2, 1}, {.steps = 0});
  CHECK(evaluated.value == Approx(24.2));
  CHECK(evaluated.x == Numbers{-1.2, 1});
  const Minimum early = lbfgs(rosenbrock, {-1.2, 1}, {.enough = 1});
  CHECK(early.value <= 1);
  CHECK(early.value > 1e-6);
  CHECK(lbfgs(rosenbrock, {1, 1}).steps == 0);
  // Infinite beyond x = 1: a step too long is shortened. The infimum of 1/x + x² there is at x = 2^(-1/3).
  const auto fenced = [](const Numbers& x, Numbers& g) {
    if (!(x[0] > 0 && x[0] < 1)) return static_cast<double>(INFINITY);
    g[0] = -1 / (x[0] * x[0]) + 2 * x[0];
    return 1 / x[0] + x[0] * x[0];
  };
  CHECK(lbfgs(fenced, {0.01}).x[0] == Approx(std::pow(2.0, -1.0 / 3)).epsilon(1e-9));
  // Without a minimum it goes down as far as its steps reach.
  const auto linear = [](const Numbers& x, Numbers& g) { return g[0] = 1, x[0]; };
  CHECK(lbfgs(linear, {0}, {.steps = 5}).value < -5);
}

TEST_CASE("L-BFGS refuses a start without a value") {
  const auto nothing = [](const Numbers&, Numbers& g) { return g[0] = 0, static_cast<double>(NAN); };
  CHECK_THROWS_WITH(lbfgs(nothing, {0}), "lbfgs: the value at the start is nan");
  CHECK_THROWS_WITH(lbfgs(rosenbrock, {1, 1}, {.memory = 0}),
                    "lbfgs: expected steps >= 0, memory >= 1 and gradient >= 0, got 1000, 0 and 1e-10");
}
