#include "experiments/studies/analysis/estimate.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "experiments/studies/analysis/statistics.h"
#include "tests/support/catch.h"

namespace headroom::experiments {

TEST_CASE("a mean over seeds by hand") {
  // Values 1, 2, 3: mean 2, error 1/√3, t = 2√3 on 2 degrees, P = ½ (1 − t / √(t² + 2)) = ½ (1 − √(6/7)).
  const Estimate e = estimate({{1, 2, 3}, {}});
  CHECK(e.value == 2);
  CHECK(e.seeds == 3);
  CHECK(e.error() == Approx(1 / std::sqrt(3.0)));
  CHECK(std::ldexp(e.variance(3).a, 2 * e.exponent) == Approx(1.0 / 3));
  CHECK(e.variance(3).a_degrees == 2);
  CHECK(e.variance(3).d == 0);
  CHECK(e.sides(0).above == Approx(0.5 * (1 - std::sqrt(6.0 / 7))));
  CHECK(e.sides(4).above == Approx(0.5 * (1 + std::sqrt(6.0 / 7))));
  const auto [low, high] = e.interval(0.9);
  CHECK(e.sides(low).above == Approx(0.05));
  CHECK(e.sides(high).above == Approx(0.95));
  CHECK(e.method() == "t");
}

TEST_CASE("an estimate at its limits") {
  CHECK(std::isnan(estimate({{}, {}}).sides(0).above));
  CHECK(std::isnan(estimate({{1}, {}}).sides(0).above));
  CHECK(std::isnan(estimate({{1}, {}}).interval(0.9).first));
  CHECK(std::isnan(estimate({{INFINITY, 1}, {}}).sides(0).above));
  CHECK(Estimate::computed(3).error() == 0);
  CHECK_THROWS_AS(estimate({{1, 2}, {{1, 2}}}), Error);
  CHECK_THROWS_AS(estimate({{1, 2}, {{1, 2}, {1}}}), Error);
}

TEST_CASE("values that are the same at every seed give no test and no interval") {
  for (const std::vector<double>& same :
       {std::vector<double>{1, 1}, {0, 0, 0}, {0.1, 0.1, 0.1}, {1e300, 1e300}, {0.3, 0.1 + 0.2, 0.3}}) {
    const Estimate e = estimate({same, {}});
    CHECK(e.has_no_spread());
    for (const double threshold : {-1.0, 0.0, same[0], 2.0}) {
      CHECK(std::isnan(e.sides(threshold).above));
      CHECK(std::isnan(e.sides(threshold).below));
      CHECK(std::isnan(e.sides(threshold, 100).above));
    }
    CHECK(std::isnan(e.interval(0.9).first));
  }
  CHECK_FALSE(estimate({{1, 1 + 1e-12}, {}}).has_no_spread());
  CHECK_FALSE(estimate({{1, 1}, {{0, 2}, {0, 2}}}).has_no_spread());  // the test data spread
  CHECK_FALSE(estimate({{1}, {}}).has_no_spread());
  CHECK_FALSE(Estimate::computed(1).has_no_spread());
}

TEST_CASE("tests do not depend on the unit, from the smallest doubles to the largest") {
  const Sample sample{{1, 6, 3}, {{0, 2}, {4, 8}, {3, 3}}};
  const Estimate one = estimate(sample);
  for (const int unit : {-1000, -600, -300, 300, 600, 1018}) {
    Sample other{scaled(sample.seeds, unit), {}};
    for (const std::vector<double>& parts : sample.parts) other.parts.push_back(scaled(parts, unit));
    const Estimate e = estimate(other);
    INFO(unit);
    CHECK(e.value == std::scalbn(one.value, unit));
    CHECK(e.error() == std::scalbn(one.error(), unit));
    CHECK(e.variance(3).quantile(0.05) == one.variance(3).quantile(0.05));
    CHECK(e.sides(0).above == one.sides(0).above);
    CHECK(e.sides(std::scalbn(4.0, unit), 20).below == one.sides(4, 20).below);
    CHECK(e.errors_beyond(0, 3) == one.errors_beyond(0, 3));
    CHECK(e.interval(0.9).second == std::scalbn(one.interval(0.9).second, unit));
  }
  // Distances that no double holds.
  const Estimate far = estimate({{1.7e308, -1.7e308, 1.6e308}, {}});
  CHECK(std::isfinite(far.value));
  CHECK(far.sides(-1.7e308).above > 0.01);
}

TEST_CASE("paired tests agree with SciPy") {
  std::ifstream file(headroom::testing::source_root() + "/tests/experiments/studies/claims/paired_t.txt");
  REQUIRE(file);
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream row(line);
    size_t n = 0;
    row >> n;
    std::vector<double> a(n), b(n), difference;
    for (double& v : a) row >> v;
    for (double& v : b) row >> v;
    double t = 0, p = 0, error = 0, geometric = 0;
    row >> t >> p >> error >> geometric;
    REQUIRE(row);
    for (size_t i = 0; i < n; ++i) difference.push_back(a[i] - b[i]);
    const Estimate e = estimate({difference, {}});
    CHECK(e.value / e.error() == Approx(t).epsilon(1e-10));
    CHECK(e.sides(0).above == Approx(p).epsilon(1e-10));
    CHECK(standard_error(a) == Approx(error).epsilon(1e-12));
    CHECK(geometric_mean(a) == Approx(geometric).epsilon(1e-12));
    ++rows;
  }
  CHECK(rows == 24);
}

TEST_CASE("seeds crossed with parts by hand") {
  // Rows 0, 2 and 4, 8: row means 1 and 6, column means 2 and 5, mean 3.5. MS_columns = 2 (1.5² + 1.5²) = 9;
  // interactions ±0.5, MS_rest = 4 · 0.25 = 1. Seeds 1 and 6: s² = 12.5.
  const Estimate e = estimate({{1, 6}, {{0, 2}, {4, 8}}});
  CHECK(e.has_parts);
  CHECK(e.method() == "crossed t");
  CHECK(e.value == 3.5);
  CHECK(std::scalbn(e.parts_variance, 2 * e.exponent) == Approx((9.0 - 1.0) / 4));
  CHECK(e.error() == Approx(std::sqrt(12.5 / 2 + 2)));
  CHECK(e.error(100) == Approx(std::sqrt(12.5 / 100 + 2)));  // more seeds do not help against finite test data
  const VarianceSum sum = e.variance(2), later = e.variance(100);
  CHECK(std::ldexp(sum.a, 2 * e.exponent) == Approx(6.25));
  CHECK(std::ldexp(sum.d, 2 * e.exponent) == Approx(2));
  CHECK((sum.a_degrees == 1 && sum.d_degrees == 1 && later.a_degrees == 99 && later.d_degrees == 1));
  // Both components have the tail of Cauchy's distribution, and so has their sum.
  CHECK(e.sides(0).above == Approx(0.5 - std::atan(3.5 / std::sqrt(8.25)) / M_PI));
}

TEST_CASE("a computed value has the error of the parts of its text, by hand") {
  // Parts 1, 2, 6 of the value 2.5: error √(7/3), on 2 degrees of freedom. A second seed has the same parts of the
  // text.
  const Estimate one = estimate_over_parts({{2.5}, {{1, 2, 6}}}),
                 two = estimate_over_parts({{2, 3}, {{0, 2, 4}, {2, 2, 8}}});
  for (const Estimate& e : {one, two}) {
    CHECK(e.value == 2.5);
    CHECK(e.error() == Approx(std::sqrt(7.0 / 3)));
    CHECK(e.variance(e.seeds).a_degrees == 2);
    CHECK(e.method() == "t over parts of the text");
  }
  CHECK(estimate_over_parts({{2.5}, {}}).is_computed());
  CHECK(estimate_over_parts({{2.5}, {{2.5, 2.5, 2.5}}}).is_computed());
}

TEST_CASE("parts that vary no more than noise add nothing") {
  const Estimate e = estimate({{1, 3}, {{0, 2}, {4, 2}}});  // column means 2 and 2
  CHECK(e.parts_variance == 0);
  CHECK(e.error() == estimate({{1, 3}, {}}).error());
  CHECK(e.sides(0).above == estimate({{1, 3}, {}}).sides(0).above);
  CHECK(e.interval(0.9) == estimate({{1, 3}, {}}).interval(0.9));
}

}  // namespace headroom::experiments
