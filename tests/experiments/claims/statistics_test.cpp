#include "experiments/claims/statistics.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "experiments/claims/number.h"
#include "tests/support/catch.h"

namespace headroom::experiments {

TEST_CASE("the median is the middle value, or between the two in the middle") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({7}) == 7);
  CHECK(std::isnan(median({})));
}

TEST_CASE("mean, standard error and geometric mean by hand") {
  CHECK(mean({1, 2, 6}) == 3);
  CHECK(standard_error({1, 2, 6}) == Approx(std::sqrt(7.0 / 3)));  // squares 4 + 1 + 9, over 2, over 3
  CHECK(geometric_mean({1, 10, 100}) == Approx(10));
  CHECK(geometric_mean({0, 10}) == 0);
  CHECK(std::isnan(mean({})));
  CHECK(std::isnan(standard_error({1})));
  CHECK(std::isnan(geometric_mean({})));
  CHECK(std::isnan(geometric_mean({-1, 2})));
}

TEST_CASE("paired t-test by hand") {
  // Differences 1, 2, 3: mean 2, error 1/√3, t = 2√3 on 2 degrees, P = ½ (1 − t / √(t² + 2)) = ½ (1 − √(6/7)).
  const PairedTest test = paired_test({2, 4, 6}, {1, 2, 3});
  CHECK(test.pairs == 3);
  CHECK(test.t == Approx(2 * std::sqrt(3.0)));
  CHECK(test.p == Approx(0.5 * (1 - std::sqrt(6.0 / 7))));
  CHECK(paired_test({1, 2, 3}, {2, 4, 6}).p == Approx(1 - test.p));
}

TEST_CASE("paired t-test at its limits") {
  CHECK(std::isnan(paired_test({}, {}).p));
  CHECK(std::isnan(paired_test({1}, {0}).p));
  CHECK(paired_test({2, 3}, {1, 2}).p == 0);
  CHECK(paired_test({1, 2}, {2, 3}).p == 1);
  CHECK(paired_test({1, 2}, {1, 2}).p == 0.5);
  CHECK(std::isnan(paired_test({INFINITY, 2}, {1, 2}).p));
  CHECK_THROWS_AS(paired_test({1}, {}), Error);
}

TEST_CASE("statistics agree with SciPy") {
  std::ifstream file(headroom::testing::source_root() + "/tests/experiments/claims/paired_t.txt");
  REQUIRE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream row(line);
    size_t n = 0;
    row >> n;
    std::vector<double> a(n), b(n);
    for (double& v : a) row >> v;
    for (double& v : b) row >> v;
    double t = 0, p = 0, error = 0, geometric = 0;
    row >> t >> p >> error >> geometric;
    REQUIRE(row);
    const PairedTest test = paired_test(a, b);
    CHECK(test.t == Approx(t).epsilon(1e-10));
    CHECK(test.p == Approx(p).epsilon(1e-10));
    CHECK(standard_error(a) == Approx(error).epsilon(1e-12));
    CHECK(geometric_mean(a) == Approx(geometric).epsilon(1e-12));
    ++rows;
  }
  CHECK(rows == 24);
}

TEST_CASE("a least-squares line by hand") {
  // x 0, 1, 2; y 0, 2, 1: slope 1/2, intercept 1/2, residuals −½, 1, −½, so s² = 3/2 on one degree, SE = √(3/4).
  const Line line = fit_line({0, 1, 2}, {0, 2, 1}, 0.1);
  CHECK(line.slope == Approx(0.5));
  CHECK(line.intercept == Approx(0.5));
  const double t = 6.313751514675037;  // the 95 % point of Student's t on one degree: tan(0.45 π)
  CHECK(line.low == Approx(0.5 - t * std::sqrt(0.75)));
  CHECK(line.high == Approx(0.5 + t * std::sqrt(0.75)));
  CHECK(fit_line({0, 1}, {1, 3}, 0.05).slope == Approx(2));
  CHECK(std::isnan(fit_line({0, 1}, {1, 3}, 0.05).low));
  CHECK(std::isnan(fit_line({1, 1, 1}, {1, 2, 3}, 0.05).slope));
  CHECK_THROWS_AS(fit_line({1}, {}, 0.05), Error);
}

TEST_CASE("a bootstrap interval") {
  const std::vector<double> values = {1, 2, 3, 4};
  const auto average = [&](const std::vector<size_t>& drawn) {
    double sum = 0;
    for (size_t i : drawn) sum += values[i];
    return sum / static_cast<double>(drawn.size());
  };
  // Of the 256 resamples, 2.0 % have a sum below 6 and 5.9 % one of at most 6: the 5 % point is 6, and 14 by symmetry.
  const Interval interval = bootstrap(4, 0.1, average);
  CHECK(interval.low == Approx(1.5));
  CHECK(interval.high == Approx(3.5));
  CHECK(bootstrap(4, 0.1, average).low == interval.low);
  CHECK(bootstrap(1, 0.1, average).high == 1);
  CHECK(std::isnan(bootstrap(0, 0.1, average).low));
  CHECK(bootstrap(4, 0.1, [](const auto&) { return NAN; }).high == INFINITY);
}

TEST_CASE("numbers for people") {
  CHECK(rounded(0.0931) == "0.0931");
  CHECK(rounded(0.99996) == "1.00");
  CHECK(rounded(253.6) == "254");
  CHECK(rounded(12345) == "12345");
  CHECK(rounded(0.00012) == "1.20e-4");
  CHECK(rounded(-4.1e7) == "-4.10e7");
  CHECK(rounded(0) == "0");
  CHECK(rounded(NAN) == "—");
  CHECK(rounded(INFINITY) == "∞");
  CHECK(rounded_beside(1.8981, 1.9) == "1.898");
  CHECK(rounded_beside(1.90004, 1.9) == "1.90004");
  CHECK(rounded_beside(1.9, 1.9) == "1.90");
  CHECK(rounded_beside(1.8981, std::nullopt) == "1.90");
  CHECK(exact(8) == "8");
  CHECK(exact(0.04) == "0.04");
  CHECK(exact(1e-5) == "1e-5");
  CHECK(exact(1e-10) == "1e-10");
  CHECK(probability(0.0004) == "0.0004");
  CHECK(probability(0.52) == "0.52");
  CHECK(probability(4e-8) == "4e-8");
  CHECK(probability(0) == "0");
  CHECK(last_part("train.optimizer.lr") == "lr");
  CHECK(last_part("seed") == "seed");
}

}  // namespace headroom::experiments
