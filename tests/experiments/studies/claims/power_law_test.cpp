#include "experiments/studies/analysis/power_law.h"

#include <cmath>
#include <random>

#include "engine/error.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::study;

/// A curve over x = 1, 2, 4, … 128 whose log is a parabola around `best`, with normal noise on each seed's logs.
Curve around(double best, int seeds, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Curve curve{"", "mse", false, MeanKind::geometric, {}};
  for (int i = 0; i < 8; ++i) {
    Point p;
    p.x = std::exp2(i);
    const double distance = std::log(p.x) - std::log(best);
    for (int s = 0; s < seeds; ++s) p.values[s] = std::exp(distance * distance / 2 + noise * normal(random));
    curve.points.push_back(std::move(p));
  }
  return curve;
}

/// Keys of eight series: a width, a token's width, a length.
const std::vector<std::vector<double>> keys{{32, 8, 16},  {64, 8, 16}, {128, 8, 16},  {64, 4, 16},
                                            {64, 16, 16}, {64, 8, 32}, {128, 16, 32}, {32, 4, 64}};
const std::vector<double> exponents{0.7, -0.5, 0.2};

std::vector<std::vector<double>> log_keys() {
  std::vector<std::vector<double>> logs = keys;
  for (std::vector<double>& row : logs)
    for (double& key : row) key = std::log(key);
  return logs;
}

double true_log(const std::vector<double>& logs) {
  double sum = 0.3;
  for (size_t k = 0; k < logs.size(); ++k) sum += exponents[k] * logs[k];
  return sum;
}

}  // namespace

TEST_CASE("a curve is best between the x that were measured") {
  std::mt19937_64 random(1);
  const auto best = optimum(around(6, 3, 0, random));
  REQUIRE(best);
  CHECK(std::exp(best->log_x) == Approx(6));
  CHECK(best->seeds == 3);
  CHECK(best->variance == Approx(0).margin(1e-20));
  CHECK_FALSE(best->is_at_end);
  CHECK(optimum(around(300, 2, 0, random))->is_at_end);
  CHECK(std::exp(optimum(around(300, 2, 0, random))->log_x) == Approx(128));

  // Seeds that differ: ln 2 and ln 8, so that the mean is ln 4 with a standard error of ln 2.
  Curve both = around(2, 1, 0, random);
  const Curve other = around(8, 1, 0, random);
  for (size_t i = 0; i < both.points.size(); ++i) both.points[i].values[1] = other.points[i].values.at(0);
  const auto mean = optimum(both);
  REQUIRE(mean);
  CHECK(std::exp(mean->log_x) == Approx(4));
  CHECK(std::sqrt(mean->variance) == Approx(std::log(2)));
  CHECK(mean->low < 2);
}

TEST_CASE("a curve without two seeds, three x or logarithms has no best x between them") {
  CHECK_FALSE(optimum(curve(study({1, 2}, {{2, 2}, {1, 1}}), "")));
  CHECK_FALSE(optimum(curve(study({1, 2, 4}, {{2}, {1}, {3}}), "")));
  CHECK_FALSE(optimum(curve(study({1, 2, 4}, {{2, 2}, {-1, 1}, {3, 3}}), "")));
  CHECK_FALSE(optimum(curve(study({0, 2, 4}, {{2, 2}, {1, 1}, {3, 3}}), "")));
  CHECK(optimum(curve(study({1, 2, 4}, {{2, 2}, {1, 1}, {3, 3}}), "")));
}

TEST_CASE("a law without noise is found as it is") {
  std::vector<double> y;
  for (const std::vector<double>& row : log_keys()) y.push_back(true_log(row));
  const auto law = fit_power_law(log_keys(), y, std::vector<double>(y.size(), 0), 0.9);
  REQUIRE(law);
  CHECK(law->intercept.value == Approx(0.3));
  for (size_t k = 0; k < exponents.size(); ++k) CHECK(law->exponents[k].value == Approx(exponents[k]));
  CHECK(law->degrees == 4);
  CHECK(law->between == Approx(0).margin(1e-9));
  CHECK(typical_factor(y, law->left_out) == Approx(1));
  // Left out and fitted again by hand.
  std::vector<std::vector<double>> rows = log_keys();
  y[2] += 0.4;
  const double left_out = fit_power_law(rows, y, std::vector<double>(8, 0), 0.9)->left_out[2];
  CHECK(left_out == Approx(true_log(rows[2])));
}

TEST_CASE("keys that cannot be told apart and too few rows have no law") {
  CHECK(fit_power_law({{0}, {1}, {2}, {3}}, {1, 2, 3, 4}, {0, 0, 0, 0}, 0.9));
  CHECK_FALSE(fit_power_law({{0}, {1}, {2}}, {1, 2, 3}, {0, 0, 0}, 0.9));
  CHECK_FALSE(fit_power_law({{0}, {1}}, {1, 2}, {0, 0}, 0.9));
  CHECK_FALSE(fit_power_law({}, {}, {}, 0.9));
  CHECK_FALSE(fit_power_law({{1, 2}, {2, 4}, {3, 6}, {4, 8}, {5, 10}}, {1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}, 0.9));
  CHECK_THROWS_AS(fit_power_law({{1}}, {1, 2}, {0, 0}, 0.9), Error);
}

// A row alone with its key's value: nothing else determines that coefficient, so that it cannot be left out.
TEST_CASE("a row that alone determines a coefficient is not predicted by the others") {
  const auto law = fit_power_law({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 1}}, {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}, 0.9);
  REQUIRE(law);
  CHECK(std::isnan(law->left_out[4]));
  CHECK(law->left_out[0] == Approx(0).margin(1e-9));
}

TEST_CASE("the intervals of a law's exponents hold the true ones at their level") {
  constexpr int laws = 2000;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto logs = log_keys();
  for (const double between : {0.0, 0.2}) {  // how far series are from the law in truth
    std::vector<double> held(exponents.size()), middle(exponents.size());
    for (int i = 0; i < laws; ++i) {
      std::vector<double> y, variances;
      for (const std::vector<double>& row : logs) {
        const auto best = optimum(around(std::exp(true_log(row) + between * normal(random)), 3, 0.1, random));
        y.push_back(best->log_x);
        variances.push_back(best->variance);
      }
      const auto law = fit_power_law(logs, y, variances, 0.9);
      for (size_t k = 0; k < exponents.size(); ++k) {
        middle[k] += law->exponents[k].value / laws;
        held[k] += law->exponents[k].low <= exponents[k] && exponents[k] <= law->exponents[k].high ? 1.0 / laws : 0;
      }
    }
    for (size_t k = 0; k < exponents.size(); ++k) {
      CAPTURE(between, k);
      CHECK(middle[k] == Approx(exponents[k]).margin(0.02));
      CHECK(held[k] > 0.9 - 4 * std::sqrt(0.09 / laws));
      CHECK(held[k] < 0.99);
    }
  }
}

}  // namespace headroom::experiments
