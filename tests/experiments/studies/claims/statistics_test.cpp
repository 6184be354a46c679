#include "experiments/studies/analysis/statistics.h"

#include <cmath>

#include "engine/error.h"
#include "experiments/output/number.h"
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

TEST_CASE("means, medians, errors and slopes of the largest and the smallest doubles") {
  CHECK(mean({1.5e308, 1.7e308, 1.6e308}) == Approx(1.6e308));
  CHECK(median({1.5e308, 1.7e308}) == Approx(1.6e308));
  CHECK(mean({5e-324, 5e-324}) == 5e-324);
  CHECK(standard_error({1e300, 2e300, 6e300}) == Approx(1e300 * std::sqrt(7.0 / 3)));
  CHECK(standard_error({1e-310, 2e-310, 6e-310}) == Approx(1e-310 * std::sqrt(7.0 / 3)).margin(0));
  CHECK(standard_error({1.7e308, -1.7e308}) == Approx(1.7e308));
  CHECK(std::isnan(standard_error({INFINITY, 1})));
  CHECK(mean({INFINITY, 1}) == INFINITY);
  CHECK(line_slope({0, 1e-3, 2e-3}, {0, 2e303, 1e303}) == Approx(0.5e306));
  CHECK(line_slope({0, 1e200, 2e200}, {0, 2e-100, 1e-100}) == Approx(0.5e-300).margin(0));
}

TEST_CASE("the slope of a least-squares line by hand") {
  CHECK(line_slope({0, 1, 2}, {0, 2, 1}) == Approx(0.5));
  CHECK(line_slope({0, 1}, {1, 3}) == Approx(2));
  CHECK(std::isnan(line_slope({1, 1, 1}, {1, 2, 3})));
  CHECK_THROWS_AS(line_slope({1}, {}), Error);
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
  CHECK(signed_percent(1.204) == "+1.20 %");
  CHECK(signed_percent(-INFINITY) == "−∞ %");
  CHECK(signed_percent(NAN) == "—");
  CHECK(signed_percent(1e300) == "+1.00e300 %");
  CHECK(last_part("train.optimizer.lr") == "lr");
  CHECK(last_part("seed") == "seed");
}

TEST_CASE("a mean shows the digits that its error leaves certain") {
  CHECK(with_error(0.0931, 0.00122) == "0.0931 ± 0.0012");
  CHECK(with_error(0.0931, 0.003) == "0.093 ± 0.003");
  CHECK(with_error(0.0931, 0.00096) == "0.093 ± 0.001");
  CHECK(with_error(1.2e-4, 3.1e-6) == "(1.20 ± 0.03)e-4");
  CHECK(with_error(253.6, 12) == "254 ± 12");
  CHECK(with_error(100.00000000000013, 3e-14) == "100");  // equal but for rounding
  CHECK(with_error(-1.5, 0.26) == "-1.5 ± 0.3");
  CHECK(with_error(0, 0.01) == "0.000 ± 0.010");
  CHECK(with_error(1.5, 0) == "1.50");
  CHECK(with_error(1.5, NAN) == "1.50");
  CHECK(with_error(NAN, 1) == "—");
}

}  // namespace headroom::experiments
