#include "experiments/studies/analysis/hypothesis.h"

#include <cmath>

#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

/// Student's t on 2 degrees is 2√3 above 0.
Estimate two() { return estimate({{1, 2, 3}, {}}); }
const double p_of_two = 0.5 * (1 - std::sqrt(6.0 / 7));

}  // namespace

TEST_CASE("the two sides of one test") {
  const auto above = Hypothesis::at_least(two(), 0).evidence();
  CHECK(above.p == Approx(p_of_two));
  CHECK(above.p_against == Approx(1 - p_of_two));
  const auto below = Hypothesis::at_most(two(), 0).evidence();
  CHECK(below.p == Approx(1 - p_of_two));
  CHECK(below.p_against == Approx(p_of_two));
}

TEST_CASE("all of several hypotheses, and any of them") {
  const Hypothesis yes = Hypothesis::at_least(two(), 0), no = Hypothesis::at_most(two(), 0);
  CHECK(Hypothesis::all_of({yes, yes}).evidence().p == Approx(p_of_two));
  CHECK(Hypothesis::all_of({yes, no}).evidence().p == Approx(1 - p_of_two));
  CHECK(Hypothesis::all_of({yes, no, yes}).evidence().p_against == Approx(3 * p_of_two));
  CHECK(Hypothesis::any_of({no, yes, no}).evidence().p == Approx(3 * p_of_two));
  CHECK(Hypothesis::any_of({no, no}).evidence().p == 1);
  CHECK(Hypothesis::any_of({yes, no}).evidence().p_against == Approx(1 - p_of_two));
  CHECK(Hypothesis::any_of({}).evidence().p == 1);
}

TEST_CASE("computed numbers are compared as they are") {
  const Estimate three = Estimate::computed(3);
  CHECK(Hypothesis::at_least(three, 3).evidence().p == 0);
  CHECK(Hypothesis::at_least(three, 3, true).evidence().p_against == 0);
  CHECK(Hypothesis::at_most(three, 2).evidence().p_against == 0);
  CHECK(Hypothesis::at_least(Estimate::computed(NAN), 0).evidence().p == 1);
  CHECK_FALSE(Hypothesis::at_least(three, 3).seeds());
  CHECK(Hypothesis::all_of({Hypothesis::at_least(three, 3), Hypothesis::at_least(two(), 0)}).seeds() == 3);
}

TEST_CASE("one seed is no evidence") {
  const auto evidence = Hypothesis::at_least(estimate({{5}, {}}), 0).evidence();
  CHECK(evidence.p == 1);
  CHECK(evidence.p_against == 1);
}

TEST_CASE("Holm's example") {
  // Holm (1979) on 0.01, 0.04, 0.03, 0.005: 4 · 0.005, 3 · 0.01, 2 · 0.03, and the last no smaller than that.
  const std::vector<double> adjusted = holm({0.01, 0.04, 0.03, 0.005});
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm({0.9, 0.8}) == std::vector<double>{1, 1});
  CHECK(holm({}).empty());
}

TEST_CASE("seeds that would decide") {
  // Mean 2, s = 1. Four seeds: t = 2 · √4 − 0.84 = 3.16 on 3 degrees, P = 0.025; P = 0.005 of six is below 0.01.
  CHECK(seeds_to_decide(Hypothesis::at_least(two(), 0), 0.05, 0.05) == 4);
  CHECK(seeds_to_decide(Hypothesis::at_least(two(), 0), 0.01, 0.01) == 6);
  CHECK_FALSE(seeds_to_decide(Hypothesis::at_least(two(), 2), 0.05, 0.05));  // on the threshold
  CHECK_FALSE(seeds_to_decide(Hypothesis::at_least(estimate({{1}, {}}), 0), 0.05, 0.05));
  // The test data's own error is as large as the distance: more seeds do not help.
  const Estimate coarse = estimate({{1, 2}, {{-9, 11}, {-8, 12}}});
  CHECK_FALSE(seeds_to_decide(Hypothesis::at_least(coarse, 0), 0.05, 0.05));
}

}  // namespace headroom::experiments
