#include "experiments/claims/claims.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/experiments/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::claim;
using testing::contains;
using testing::error_of;
using testing::failed;
using testing::keys;
using testing::number;
using testing::says;
using testing::study;
using testing::u_curve;
using testing::verdict;

ClaimConfig interior(double factor = 1) {
  ClaimConfig c = claim("interior_optimum");
  c.log_error = true;
  keys<InteriorOptimum>(c).factor = factor;
  return c;
}

ClaimConfig argmin(std::vector<double> among) {
  ClaimConfig c = claim("argmin_in");
  keys<ArgminIn>(c).among = std::move(among);
  return c;
}

ClaimConfig within(double at, double factor) {
  ClaimConfig c = claim("within_factor");
  keys<WithinFactor>(c).at = at;
  keys<WithinFactor>(c).factor = factor;
  return c;
}

}  // namespace

TEST_CASE("a U has an interior optimum") {
  const Verdict v = verdict(u_curve(), interior(10));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "best_x") == 4);
  CHECK(number(v, "seeds") == 3);
  CHECK(number(v, "ratio_low") == Approx(std::cbrt(100 * (1.2 / 0.011) * (0.9 / 0.0095))));
  CHECK(number(v, "ratio_high") == Approx(std::cbrt(20 * 20 * 0.21 / 0.011)));
  // SciPy: ttest_rel(log([1, 1.2, .9]), log([.01, .011, .0095]), alternative="greater"), and log([.2, .21, .19]).
  CHECK(number(v, "p_low") == Approx(3.962072406155324e-05).epsilon(1e-9));
  CHECK(number(v, "p_high") == Approx(1.3536029131767525e-05).epsilon(1e-9));
  CHECK(says(v, "Both ends are worse than heads = 4: heads = 1 has 101 times its error"));
  CHECK(v.notes.empty());
}

TEST_CASE("a U that is shallower than claimed fails") {
  const Verdict v = verdict(u_curve(), interior(50));
  CHECK(v.status == VerdictStatus::fail);
  CHECK(says(v, "heads = 16 is 19.7 times as bad, at least 50 was claimed"));
  CHECK_FALSE(says(v, "heads = 1 is"));
}

TEST_CASE("a curve that only falls has no interior optimum") {
  const Verdict v = verdict(study({1, 2, 4}, {{1, 1.1}, {0.5, 0.52}, {0.1, 0.11}}), interior());
  CHECK(v.status == VerdictStatus::fail);
  CHECK(number(v, "ratio_high") < 1);
  CHECK(number(v, "p_high") > 0.9);
  CHECK(says(v, "that heads = 4 is worse is not significant"));
}

TEST_CASE("a U within the noise is not significant") {
  const Verdict v = verdict(study({1, 2, 4}, {{1.2, 0.7, 1.1}, {0.9, 0.8, 1.0}, {0.6, 1.5, 1.2}}), interior());
  CHECK(v.status == VerdictStatus::fail);
  CHECK(number(v, "ratio_low") > 1);
  CHECK(says(v, "heads = 1 is worse is not significant"));
  CHECK(says(v, "heads = 4 is worse is not significant"));
}

TEST_CASE("the level of significance is the claim's") {
  // Differences at the low end ln 2 · (1, 2, 3): p = 0.037 as in the hand-made t-test; the high end's are all alike.
  const StudyResults r = study({1, 2, 4}, {{2, 4, 8}, {1, 1, 1}, {8, 8, 8}});
  ClaimConfig c = interior();
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  CHECK(number(verdict(r, c), "p_low") == Approx(0.5 * (1 - std::sqrt(6.0 / 7))));
  CHECK(number(verdict(r, c), "p_high") == 0);
  c.significance = 0.03;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
}

TEST_CASE("pairs are made by seed") {
  // Seed 1 is bad everywhere: unpaired, nothing could be told.
  const StudyResults r = study({1, 2, 4}, {{1.1, 9.1, 1.2}, {1.0, 9.0, 1.1}, {1.2, 9.2, 1.3}});
  ClaimConfig c = interior();
  c.log_error = false;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
}

TEST_CASE("one seed decides nothing") {
  const StudyResults r = study({1, 2, 4}, {{1}, {0.1}, {1}});
  for (const ClaimConfig& c : {interior(), argmin({2}), argmin({4}), within(2, 3)}) {
    const Verdict v = verdict(r, c);
    CAPTURE(kind_name(c));
    CHECK(v.status == VerdictStatus::undecided);
    CHECK(says(v, "Too few seeds to judge: 1 in common"));
  }
  CHECK(number(verdict(r, interior()), "ratio_low") == Approx(10));
}

TEST_CASE("failed seeds are left out of the pairs, and said") {
  StudyResults r = u_curve();
  r.trials[0] = failed(r.trials[0]);
  const Verdict two = verdict(r, interior(10));
  CHECK(two.status == VerdictStatus::pass);
  CHECK(number(two, "seeds") == 2);
  CHECK(two.notes == std::vector<std::string>{"at heads = 1 seed 0 failed and is in no mean"});
  r.trials[1] = failed(r.trials[1]);
  CHECK(verdict(r, interior(10)).status == VerdictStatus::undecided);
  r.trials[2] = failed(r.trials[2]);
  const Verdict none = verdict(r, interior(10));
  CHECK(none.status == VerdictStatus::not_run);
  CHECK(says(none, "no trial at heads = 1 finished"));
}

TEST_CASE("a sweep that is not complete is not judged") {
  StudyResults r = u_curve();
  r.planned += 3;
  for (const ClaimConfig& c : {interior(), argmin({4}), within(4, 3)}) {
    CHECK(verdict(r, c).status == VerdictStatus::not_run);
    CHECK(says(verdict(r, c), "15 of 18 trials are done"));
  }
}

TEST_CASE("two points have no interior") {
  CHECK(verdict(study({1, 2}, {{1, 1}, {2, 2}}), interior()).status == VerdictStatus::not_run);
}

TEST_CASE("errors without a ratio are not judged by one") {
  const StudyResults r = study({1, 2, 4}, {{1, 1.1}, {-0.1, 0.1}, {1, 1.1}});
  CHECK(verdict(r, interior()).status == VerdictStatus::not_run);
  ClaimConfig plain = claim("interior_optimum");
  CHECK(verdict(r, plain).status != VerdictStatus::not_run);
  keys<InteriorOptimum>(plain).factor = 2;
  CHECK(verdict(r, plain).status == VerdictStatus::not_run);
}

TEST_CASE("the argmin is where it was claimed, or not") {
  const Verdict holds = verdict(u_curve(), argmin({2, 4}));
  CHECK(holds.status == VerdictStatus::pass);
  CHECK(number(holds, "argmin") == 4);
  CHECK(number(holds, "rival_x") == 8);
  CHECK(holds.summary == "4");
  CHECK(says(holds, "The smallest error is at heads = 4, as claimed"));

  const Verdict elsewhere = verdict(u_curve(), argmin({8}));
  CHECK(elsewhere.status == VerdictStatus::fail);
  CHECK(number(elsewhere, "argmin") == 4);
  CHECK(number(elsewhere, "claimed_x") == 8);
  CHECK(number(elsewhere, "ratio") == Approx(0.09 / 0.0305));
  CHECK(number(elsewhere, "p") < 0.01);
  CHECK(says(elsewhere, "a difference that is significant"));

  const StudyResults noisy = study({1, 2}, {{1.0, 1.2, 0.9}, {1.1, 1.0, 1.1}});
  CHECK(verdict(noisy, argmin({2})).status == VerdictStatus::fail);
  CHECK(says(verdict(noisy, argmin({2})), "a difference that is not significant"));
}

TEST_CASE("a tie counts for the claim") {
  const StudyResults r = study({1, 2, 4}, {{1, 2}, {1, 2}, {3, 4}});
  CHECK(verdict(r, argmin({1})).status == VerdictStatus::pass);
  CHECK(verdict(r, argmin({2})).status == VerdictStatus::pass);
  CHECK(verdict(r, argmin({4})).status == VerdictStatus::fail);
  CHECK(number(verdict(r, argmin({2})), "p") == 0.5);
}

TEST_CASE("log_error takes the geometric mean") {
  // Arithmetic means 5.05 and 2; geometric means 1 and 2.
  const StudyResults r = study({1, 2}, {{0.1, 10}, {2, 2}});
  ClaimConfig c = argmin({1});
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  c.log_error = true;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
}

TEST_CASE("within a factor of the best") {
  const Verdict near = verdict(u_curve(), within(8, 3));
  CHECK(near.status == VerdictStatus::pass);
  CHECK(number(near, "ratio") == Approx(0.09 / 0.0305));
  CHECK(number(near, "best_x") == 4);
  CHECK(verdict(u_curve(), within(8, 2)).status == VerdictStatus::fail);
  CHECK(says(verdict(u_curve(), within(8, 2)), "2.95 times the smallest error, that of heads = 4; at most 2 times"));
  CHECK(verdict(u_curve(), within(4, 1)).status == VerdictStatus::pass);
  CHECK(says(verdict(u_curve(), within(4, 1)), "has the smallest error itself"));
}

TEST_CASE("a claim about an x that was not swept is not judged") {
  CHECK(says(verdict(u_curve(), argmin({4, 32})), "heads = 32 is no point of the sweep"));
  CHECK(verdict(u_curve(), argmin({4, 32})).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), within(32, 3)).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), argmin({})).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), claim("within_factor")).status == VerdictStatus::not_run);
  CHECK(verdict(study({}, {}), interior()).status == VerdictStatus::not_run);
}

TEST_CASE("a best choice at the edge of its grid weakens the verdict") {
  StudyResults r = study({}, {});
  for (double x : {1, 2, 4})
    for (double lr : {0.01, 0.02})
      for (int seed : {0, 1}) {
        TrialRecord t = testing::trial(x, seed, (x == 2 ? 1 : 2) + lr);
        t.choice = {{"train.optimizer.lr", lr}};
        r.trials.push_back(t);
      }
  const Verdict v = verdict(r, interior());
  CHECK(v.notes == std::vector<std::string>{"at heads = 1, 2, 4 the best lr is 0.01, an end of the values tried"});
}

TEST_CASE("each claim is judged on its own series") {
  StudyResults r = u_curve();
  r.series = {"falling", "u"};
  for (TrialRecord& t : r.trials) t.series = "u";
  for (double x : {1, 2, 4})
    for (int seed : {0, 1}) {
      r.trials.push_back(testing::trial(x, seed, 1 / x));
      r.trials.back().series = "falling";
    }
  ClaimConfig c = interior();
  c.series = "u";
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  c.series = "falling";
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  c.series = "";
  CHECK(contains(error_of([&] { verdict(r, c); }), "no series ''; it has falling, u"));
}

TEST_CASE("an unknown kind of claim is refused") {
  CHECK(
      contains(error_of([&] { verdict(u_curve(), claim("optimal")); }), "interior_optimum, argmin_in, within_factor"));
}

TEST_CASE("verdicts do not depend on the order of the trials") {
  StudyResults r = u_curve();
  const Verdict before = verdict(r, interior(10));
  std::mt19937 random(3);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(r.trials.begin(), r.trials.end(), random);
    const Verdict after = verdict(r, interior(10));
    CHECK(after.numbers == before.numbers);  // to the last bit
    CHECK(after.sentence == before.sentence);
  }
}

TEST_CASE("claims have names for a list") {
  CHECK(claim_name(argmin({32})) == "argmin_in [32]");
  CHECK(claim_name(within(32, 3)) == "within_factor 32 ≤ 3×");
  ClaimConfig c = interior();
  c.series = "D 256";
  CHECK(claim_name(c) == "interior_optimum · D 256");
}

}  // namespace headroom::experiments
