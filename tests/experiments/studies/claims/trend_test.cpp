// Kinds of claim about how a curve runs: monotone, slope, saturates.
#include <cmath>

#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

ClaimConfig monotone(const std::string& direction) {
  ClaimConfig c = claim("monotone", {.direction = direction});
  return c;
}

ClaimConfig slope(double low, double high) {
  ClaimConfig c = claim("slope", {.limits = {.low = low, .high = high}});
  return c;
}

StudyResults falling() {
  return study({1, 2, 4, 8}, {{1.0, 1.1, 0.9}, {0.5, 0.556, 0.446}, {0.3, 0.32, 0.28}, {0.1, 0.111, 0.0892}});
}

}  // namespace

TEST_CASE("a falling curve falls, and does not rise") {
  const Verdict v = verdict(falling(), monotone("falling"));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(10).epsilon(1e-4));
  CHECK(v.p < 0.01);
  CHECK(number(v, "worst_step") < 0.7);
  CHECK(says(v, "With 1 head the error is 10.0× ["));
  const Verdict rising = verdict(falling(), monotone("rising"));
  CHECK(rising.status == VerdictStatus::fail);
  CHECK(says(rising, "with 4 heads it is 3.0"));
}

TEST_CASE("a step back breaks a trend unless it is shown to be small") {
  StudyResults r = study({1, 2, 4}, {{1.0, 1.1, 0.9}, {0.50, 0.60, 0.40}, {0.52, 0.625, 0.419}});
  const Verdict back = verdict(r, monotone("falling"));
  CHECK(back.status == VerdictStatus::fail);
  CHECK(number(back, "worst_x") == 4);
  CHECK(number(back, "worst_step") > 1.04);
  ClaimConfig tolerant = monotone("falling");
  tolerant.keys.tolerance = 0.1;
  CHECK(verdict(r, tolerant).status == VerdictStatus::pass);
  r = study({1, 2, 4}, {{1.0, 1.1, 0.9}, {0.5, 0.501, 0.499}, {0.5, 0.499, 0.501}});
  CHECK(verdict(r, monotone("falling")).status == VerdictStatus::undecided);
  CHECK(verdict(r, tolerant).status == VerdictStatus::pass);
  // 0.5, then 0.4 to 0.9: not significant, and not shown to be at most 10 %.
  r = study({1, 2, 4}, {{2.0, 2.1, 1.9}, {0.5, 0.5, 0.5}, {0.4, 0.9, 0.6}});
  CHECK(verdict(r, tolerant).status == VerdictStatus::undecided);
}

TEST_CASE("a flat curve is no trend") {
  const Verdict v = verdict(study({1, 2, 4}, {{1.0, 1.1}, {1.1, 1.0}, {1.0, 1.1}}), monotone("falling"));
  CHECK(v.status == VerdictStatus::undecided);
}

TEST_CASE("a trend may be claimed over part of the curve, and by a factor") {
  ClaimConfig c = monotone("rising");
  c.from = 4;
  CHECK(verdict(testing::u_curve(), c).status == VerdictStatus::pass);
  c.keys.factor = 30;
  CHECK(verdict(testing::u_curve(), c).status == VerdictStatus::fail);
  c.keys.factor = 1;
  c.from = 2;
  CHECK(verdict(testing::u_curve(), c).status == VerdictStatus::fail);
  c.from = 100;
  CHECK(says(verdict(testing::u_curve(), c), "no trial is in its range"));
}

TEST_CASE("one seed tells no trend, unless nothing is sampled") {
  const StudyResults r = study({1, 2, 4}, {{3}, {2}, {1}});
  ClaimConfig c = monotone("falling");
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
  c.deterministic = true;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  c.keys.direction = "rising";
  CHECK(verdict(r, c).status == VerdictStatus::fail);
}

TEST_CASE("a power law has its exponent as slope") {
  // Seeds of slope −1.1, −1 and −0.9.
  StudyResults r = study({}, {});
  for (double x : {1, 2, 4, 8})
    for (int seed : {0, 1, 2}) r.trials.push_back(testing::trial(x, seed, 3 * std::pow(x, -1.1 + 0.1 * seed)));
  const Verdict v = verdict(r, slope(-2, 0));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(-1));
  CHECK(number(v, "seeds") == 3);
  const double half = 2.919985580353726 * 0.1 / std::sqrt(3.0);  // the 95 % point of Student's t on 2 degrees
  CHECK(v.intervals.at(0).low == Approx(-1 - half));
  CHECK(v.intervals.at(0).high == Approx(-1 + half));
  CHECK(v.intervals.at(0).level == Approx(0.9));
  CHECK(verdict(r, slope(-1.1, -0.85)).status == VerdictStatus::undecided);
  CHECK(verdict(r, slope(-0.5, 0)).status == VerdictStatus::fail);
}

TEST_CASE("the paper's Jacobian norms have the slope that their note states") {
  const auto points = paper_points({"jacobian-position", "norm"});
  REQUIRE(points.size() == 10);
  StudyResults r = study({}, {});
  for (const auto& [x, y] : points) r.trials.push_back(testing::trial(x, 0, y));
  ClaimConfig c = slope(-1.1, -0.85);
  c.deterministic = true;
  const Verdict v = verdict(r, c);
  CHECK(v.measured == Approx(-0.912).margin(0.0005));
  CHECK(v.status == VerdictStatus::pass);
}

TEST_CASE("slopes on other axes") {
  ClaimConfig c = slope(1.99, 2.01);
  c.deterministic = true;
  c.keys.axes = "linear";
  CHECK(verdict(study({1, 2, 5}, {{3, 3}, {5, 5}, {11, 11}}), c).status == VerdictStatus::pass);
  c.keys.axes = "semi-log";
  CHECK(verdict(study({1, std::exp(1), std::exp(3)}, {{3}, {5}, {9}}), c).status == VerdictStatus::pass);
  c.keys.axes = "log-log";
  CHECK(says(verdict(study({1, 2, 5}, {{3}, {-5}, {11}}), c), "at heads = 2 seed 0 has -5.00, which has no logarithm"));
  CHECK(verdict(study({1, 2}, {{3}, {5}}), c).status == VerdictStatus::not_run);
  CHECK(says(verdict(study({0, 2, 4}, {{3}, {5}, {7}}), c), "heads = 0 has no logarithm"));
}

TEST_CASE("a cost is curved, or a straight line") {
  ClaimConfig c = claim("curved", {.percent = 5});
  const StudyResults line = study({1, 2, 4}, {{1.0, 1.01, 1.02}, {2.0, 2.01, 2.02}, {4.0, 4.01, 4.02}});
  CHECK(verdict(line, c).status == VerdictStatus::fail);
  const Verdict bent = verdict(study({1, 2, 4}, {{1.0, 1.01, 1.02}, {3.0, 3.01, 3.02}, {4.0, 4.01, 4.02}}), c);
  CHECK(bent.status == VerdictStatus::pass);
  CHECK(bent.measured == Approx(100 * (3.01 / 2.01 - 1)));
  CHECK(number(bent, "worst_x") == 2);
  CHECK(says(bent, "With 2 heads the mse is +49.75 % off the line from 1 to 4, the farthest"));
  const StudyResults noisy = study({1, 2, 4}, {{1.0, 1.1, 0.9}, {2.0, 2.5, 1.9}, {4.0, 4.1, 4.4}});
  CHECK(verdict(noisy, c).status == VerdictStatus::undecided);
  c.deterministic = true;
  CHECK(verdict(study({1, 2, 4}, {{1}, {2}, {4}}), c).status == VerdictStatus::fail);
}

TEST_CASE("a bend of zeros, from zero and of seeds that no point shares") {
  ClaimConfig c = claim("curved", {.percent = 5});
  c.log_error = false;
  const Verdict zeros = verdict(study({1, 2, 4}, {{0, 0}, {0, 0}, {0, 0}}), c);
  CHECK(zeros.status == VerdictStatus::undecided);
  CHECK(says(zeros, " is on the line from 1 to 4"));
  CHECK(says(zeros, "every seed gives the same value"));
  CHECK(says(verdict(study({1, 2, 4}, {{0, 0}, {-1, -2}, {0, 0}}), c), "−∞ % off the line from 1 to 4"));
  StudyResults disjoint = study({1, 2, 4}, {{1, 1.1}, {2, 2.1}, {4, 4.1}});
  for (TrialRecord& t : disjoint.trials) t.seed += t.x == 2 ? 10 : 0;
  const Verdict none = verdict(disjoint, c);
  CHECK(none.status == VerdictStatus::not_run);
  CHECK(says(none, "Not judged: no seed finished at heads = 1, at 4 and between them."));
}

TEST_CASE("a curve that levels off saturates") {
  const ClaimConfig c = claim("saturates");
  const StudyResults r = study({1, 2, 4, 8}, {{2.0, 2.2, 1.9}, {1.0, 1.1, 0.9}, {0.5, 0.6, 0.45}, {0.48, 0.57, 0.44}});
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx((0.02 + 0.03 + 0.01) / 3.1));
  // Fieller: at the ends of the interval the test of "last = share × first" is just not rejected.
  const ConfidenceInterval share = v.intervals.at(0);
  CHECK(share.method == "Fieller");
  for (double end : {share.low, share.high}) {
    const std::vector<double> left{0.02 - end, 0.03 - end * 1.1, 0.01 - end};
    const Estimate e = estimate({left, {}});
    CHECK(std::min(e.sides(0).above, e.sides(0).below) == Approx(0.05).epsilon(1e-6));
  }
}

TEST_CASE("a curve that goes on falling does not saturate") {
  const ClaimConfig c = claim("saturates");
  CHECK(verdict(falling(), c).status == VerdictStatus::fail);
  const Verdict noisy = verdict(study({1, 2, 4, 8}, {{2, 2}, {1, 1}, {0.5, 0.5}, {0.5, 0.35}}), c);
  CHECK(noisy.status == VerdictStatus::undecided);
  CHECK(verdict(study({1, 2, 4}, {{2}, {1}, {1}}), c).status == VerdictStatus::undecided);
  const Verdict rising = verdict(study({1, 2, 4}, {{1, 1}, {2, 2.001}, {2, 2.002}}), c);
  CHECK(rising.status == VerdictStatus::fail);
  CHECK((says(rising, "heads gains -1.00 from 1 to 2") && says(rising, "from 2 to 4: no first gain;")));
}

TEST_CASE("saturation counts gains per doubling, towards the better") {
  StudyResults r = study({1, 4, 8}, {{0.2, 0.2}, {0.8, 0.801}, {0.82, 0.8205}});  // 0.3 per doubling, then 0.02
  for (TrialRecord& t : r.trials) t.test["accuracy"] = t.validation["accuracy"] = t.test["mse"];
  ClaimConfig c = claim("saturates");
  c.metric = "accuracy";
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  CHECK(verdict(r, c).measured == Approx(0.01975 / 0.30025));
}

TEST_CASE("the paper's own table of ranks does not saturate") {
  // Layers 21–24: 0.00 for 1 → 4, 0.10 for 64 → 128.
  StudyResults r = study({}, {});
  for (const auto& [x, y] : paper_points({"lowrank-perplexity", "layers 21-24"}))
    r.trials.push_back(testing::trial(x, 0, y));
  ClaimConfig c = claim("saturates");
  c.deterministic = true;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
}

TEST_CASE("trends leave failed seeds out") {
  StudyResults r = falling();
  r.trials[0] = failed(r.trials[0]);
  CHECK(number(verdict(r, monotone("falling")), "seeds") == 2);
  CHECK(number(verdict(r, claim("saturates")), "seeds") == 2);
  CHECK(number(verdict(r, slope(-2, 0)), "seeds") == 2);
  r.trials[4].test["mse"] = NAN;
  CHECK(verdict(r, monotone("falling")).status == VerdictStatus::undecided);
}

}  // namespace headroom::experiments
