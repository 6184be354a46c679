// Kinds of claim about how a curve runs: monotone, slope, saturates.
#include <cmath>

#include "tests/experiments/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;
using testing::failed;
using testing::keys;
using testing::number;
using testing::says;
using testing::study;
using testing::verdict;

ClaimConfig monotone(const std::string& direction) {
  ClaimConfig c = claim("monotone");
  keys<Monotone>(c).direction = direction;
  return c;
}

ClaimConfig slope(double low, double high) {
  ClaimConfig c = claim("slope");
  keys<Slope>(c).limits.low = low;
  keys<Slope>(c).limits.high = high;
  return c;
}

StudyResults falling() {
  return study({1, 2, 4, 8}, {{1.0, 1.1, 0.9}, {0.5, 0.55, 0.45}, {0.3, 0.32, 0.28}, {0.1, 0.11, 0.09}});
}

}  // namespace

TEST_CASE("a falling curve falls, and does not rise") {
  const Verdict v = verdict(falling(), monotone("falling"));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(10));
  CHECK(v.p < 0.01);
  CHECK(number(v, "p_against") == 1);
  CHECK(says(v, "From heads = 1 to 8 the mse goes from 1.00 to 0.100: falling throughout"));
  const Verdict rising = verdict(falling(), monotone("rising"));
  CHECK(rising.status == VerdictStatus::fail);
  CHECK(says(rising, "from heads = 1 to 2 it falls from 1.00 to 0.500"));
}

TEST_CASE("a significant step back breaks a trend, a tie does not") {
  StudyResults r = study({1, 2, 4}, {{1.0, 1.1, 0.9}, {0.50, 0.60, 0.40}, {0.52, 0.625, 0.419}});
  const Verdict back = verdict(r, monotone("falling"));
  CHECK(back.status == VerdictStatus::fail);
  CHECK(says(back, "from heads = 2 to 4 it rises from 0.500 to 0.521"));
  ClaimConfig tolerant = monotone("falling");
  keys<Monotone>(tolerant).tolerance = 0.05;
  CHECK(verdict(r, tolerant).status == VerdictStatus::pass);
  r = study({1, 2, 4}, {{1.0, 1.1, 0.9}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}});
  CHECK(verdict(r, monotone("falling")).status == VerdictStatus::pass);
}

TEST_CASE("a flat curve is no trend") {
  const Verdict v = verdict(study({1, 2, 4}, {{1.0, 1.1}, {1.1, 1.0}, {1.0, 1.1}}), monotone("falling"));
  CHECK(v.status == VerdictStatus::fail);
  CHECK(v.p == 0.5);
  CHECK(says(v, "that it is smaller at heads = 4 than at 1 is not significant"));
}

TEST_CASE("a trend may be claimed over part of the curve, and by a factor") {
  ClaimConfig c = monotone("rising");
  c.from = 4;
  CHECK(verdict(testing::u_curve(), c).status == VerdictStatus::pass);
  keys<Monotone>(c).factor = 30;
  CHECK(verdict(testing::u_curve(), c).status == VerdictStatus::fail);
  keys<Monotone>(c).factor = 1;
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
  CHECK(verdict(r, c).p == 0);
  keys<Monotone>(c).direction = "rising";
  CHECK(verdict(r, c).status == VerdictStatus::fail);
}

TEST_CASE("a power law has its exponent as slope") {
  // y = 3 / x exactly, but for factors that cancel: residuals ln 1.1 · (+1, −1, −1, +1) at ln x = ln 2 · (0, 1, 2, 3).
  const StudyResults r = study({1, 2, 4, 8}, {{3 * 1.1}, {1.5 / 1.1}, {0.75 / 1.1}, {0.375 * 1.1}});
  const Verdict v = verdict(r, slope(-2, 0));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(-1));
  // Half width t(0.975, 2) · sqrt(4 ln² 1.1 / 2 / (5 ln² 2)).
  const double half = 4.302652729911275 * std::log(1.1) / std::log(2) * std::sqrt(0.4);
  CHECK(number(v, "low") == Approx(-1 - half));
  CHECK(number(v, "high") == Approx(-1 + half));
  CHECK(verdict(r, slope(-1.1, -0.85)).status == VerdictStatus::undecided);
  CHECK(verdict(r, slope(-0.95, 0)).status == VerdictStatus::fail);
}

TEST_CASE("the paper's Jacobian norms have the slope that their note states") {
  const auto points = paper_points({"jacobian-position", "norm"});
  REQUIRE(points.size() == 10);
  StudyResults r = study({}, {});
  for (const auto& [x, y] : points) r.trials.push_back(testing::trial(x, 0, y));
  const Verdict v = verdict(r, slope(-1.1, -0.85));
  CHECK(v.measured == Approx(-0.912).margin(0.0005));
  CHECK(v.status == VerdictStatus::pass);
}

TEST_CASE("slopes on other axes") {
  ClaimConfig c = slope(1.99, 2.01);
  keys<Slope>(c).axes = "linear";
  CHECK(verdict(study({1, 2, 5}, {{3, 3}, {5, 5}, {11, 11}}), c).status == VerdictStatus::pass);
  keys<Slope>(c).axes = "semi-log";
  CHECK(verdict(study({1, std::exp(1), std::exp(3)}, {{3}, {5}, {9}}), c).status == VerdictStatus::pass);
  keys<Slope>(c).axes = "log-log";
  CHECK(says(verdict(study({1, 2, 5}, {{3}, {-5}, {11}}), c), "at heads = 2 seed 0 has -5.00, which has no logarithm"));
  CHECK(verdict(study({1, 2}, {{3}, {5}}), c).status == VerdictStatus::not_run);
  CHECK(says(verdict(study({0, 2, 4}, {{3}, {5}, {7}}), c), "heads = 0 has no logarithm"));
}

TEST_CASE("a curve that levels off saturates") {
  const ClaimConfig c = claim("saturates");
  const StudyResults r = study({1, 2, 4, 8}, {{2.0, 2.2, 1.9}, {1.0, 1.1, 0.9}, {0.5, 0.6, 0.45}, {0.48, 0.57, 0.44}});
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx((0.02 + 0.03 + 0.01) / 3.1));
  // Every resample is a ratio of sums of (0.02, 0.03, 0.01) and (1, 1.1, 1): between those of its seeds.
  CHECK(number(v, "low") >= 0.01);
  CHECK(number(v, "high") <= 0.0273);
  CHECK(number(verdict(r, c), "high") == number(v, "high"));
}

TEST_CASE("a curve that goes on falling does not saturate") {
  const ClaimConfig c = claim("saturates");
  CHECK(verdict(falling(), c).status == VerdictStatus::fail);
  const Verdict noisy = verdict(study({1, 2, 4, 8}, {{2, 2}, {1, 1}, {0.5, 0.5}, {0.5, 0.35}}), c);
  CHECK(noisy.status == VerdictStatus::undecided);
  CHECK(says(noisy, "too wide to tell"));
  CHECK(verdict(study({1, 2, 4}, {{2}, {1}, {1}}), c).status == VerdictStatus::undecided);
  const Verdict rising = verdict(study({1, 2, 4}, {{1, 1}, {2, 2}, {2, 2}}), c);
  CHECK(rising.status == VerdictStatus::fail);
  CHECK(says(rising, "The first doubling gains nothing"));
}

TEST_CASE("saturation counts gains per doubling, towards the better") {
  StudyResults r = study({1, 4, 8}, {{0.2, 0.2}, {0.8, 0.8}, {0.82, 0.82}});  // 0.3 per doubling, then 0.02
  for (TrialRecord& t : r.trials) t.test["accuracy"] = t.validation["accuracy"] = t.test["mse"];
  ClaimConfig c = claim("saturates");
  c.metric = "accuracy";
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  CHECK(verdict(r, c).measured == Approx(0.02 / 0.3));
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
  CHECK(number(verdict(r, slope(-2, 0)), "points") == 11);
  r.trials[4].test["mse"] = NAN;
  CHECK(verdict(r, monotone("falling")).status == VerdictStatus::undecided);
}

}  // namespace headroom::experiments
