#include "experiments/studies/analysis/verdict.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
using namespace testing;

TEST_CASE("a U has an interior optimum") {
  const Verdict v = verdict(u_curve(), interior(10));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "best_x") == 4);
  CHECK(number(v, "seeds") == 3);
  CHECK(number(v, "ratio_low") == Approx(std::cbrt(100 * (1.2 / 0.011) * (0.9 / 0.0095))));
  CHECK(number(v, "ratio_high") == Approx(std::cbrt(20 * 20 * 0.21 / 0.011)));
  CHECK(says(v, "With 1 head the error is 101× ["));
  CHECK(says(v, "; the claim needs ≥ 10×."));
  // SciPy: ttest_rel(log([1, 1.2, .9]), log([.01, .011, .0095]), alternative="greater"), the clearest of the x: 2 is
  // 10 times better than 1 at every seed: there is nothing to test.
  CHECK(verdict(u_curve(), interior()).p == Approx(3 * 3.962072406155093e-05).epsilon(1e-9));
}

TEST_CASE("an interval is as wide as the test that it belongs to") {
  const Verdict v = verdict(u_curve(), interior());
  REQUIRE(v.intervals.size() == 2);
  const ConfidenceInterval& high = v.intervals[1];
  CHECK(high.name == "ratio_high");
  CHECK(high.value == Approx(number(v, "ratio_high")));
  CHECK(high.level == Approx(1 - 2 * 0.05 / 3));
  CHECK(high.method == "t on logs, Bonferroni over 3");
  // A claim of as much as the lower end is on the edge of what passes.
  CHECK(verdict(u_curve(), interior(high.low * 0.999)).status == VerdictStatus::pass);
  CHECK(verdict(u_curve(), interior(high.low * 1.001)).status == VerdictStatus::undecided);
}

TEST_CASE("a U that is shallower than claimed fails") {
  const Verdict v = verdict(u_curve(), interior(50));
  CHECK(v.status == VerdictStatus::fail);
  CHECK(says(v, "with 16 heads it is 19.7× ["));
  CHECK(v.p_against < 0.05);
}

TEST_CASE("that there is an interior optimum and that there is none are opposites") {
  const auto none = [](double factor) { return claim("no_interior_optimum", {.factor = factor}); };
  const StudyResults one_arm = study({1, 2, 4}, {{1, 1.1, 0.95}, {0.5, 0.52, 0.49}, {0.52, 0.53, 0.5}});
  for (const StudyResults& r : {u_curve(), one_arm}) {
    for (double factor : {1.01, 1.1, 1.5, 10.0, 15.0, 25.0}) {
      const Verdict is = verdict(r, interior(factor)), is_not = verdict(r, none(factor));
      CAPTURE(factor);
      CHECK(is.p == is_not.p_against);
      CHECK(is.p_against == is_not.p);
      CHECK((is.status == VerdictStatus::pass) == (is_not.status == VerdictStatus::fail));
    }
  }
  CHECK(verdict(one_arm, none(1.1)).status == VerdictStatus::pass);
  CHECK(says(verdict(one_arm, none(1.1)), "; the claim needs ≤ 1.1× at one end."));
  CHECK(says(verdict(one_arm, none(1)), "no_interior_optimum needs a factor above 1"));
}

TEST_CASE("a curve that only falls has no interior optimum") {
  const Verdict v = verdict(study({1, 2, 4}, {{1, 1.1}, {0.5, 0.52}, {0.1, 0.11}}), interior());
  CHECK(v.status == VerdictStatus::fail);
  CHECK(number(v, "ratio_high") < 1);
  CHECK(v.p > 0.9);
}

TEST_CASE("a U within the noise is not significant") {
  const Verdict v = verdict(study({1, 2, 4}, {{1.2, 0.7, 1.1}, {0.9, 0.8, 1.0}, {0.6, 1.5, 1.2}}), interior());
  CHECK(v.status == VerdictStatus::undecided);
  CHECK(number(v, "ratio_low") > 1);
  CHECK(says(v, "Undecided: about "));
  CHECK(says(v, "seeds would decide"));
}

TEST_CASE("the level of significance is the claim's") {
  // Differences at the low end ln 2 · (1, 2, 3): p = 0.037 as in the hand-made t-test; the high end's hardly differ.
  const StudyResults r = study({1, 2, 4}, {{2, 4, 8}, {1, 1, 1}, {8, 8.01, 7.99}});
  ClaimConfig c = interior();
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  CHECK(verdict(r, c).p == Approx(0.5 * (1 - std::sqrt(6.0 / 7))));
  StudyResults half = r;
  half.looks.shares = {0.5};
  CHECK(verdict(half, c).status == VerdictStatus::undecided);
  c.significance = 0.03;
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
  CHECK(verdict(r, c).seeds_needed > 3);
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
    CAPTURE(c.kind->name);
    CHECK(v.status == VerdictStatus::undecided);
    CHECK(says(v, "Undecided: one seed decides nothing."));
    CHECK_FALSE(v.seeds_needed);
  }
  CHECK(number(verdict(r, interior()), "ratio_low") == Approx(10));
}

TEST_CASE("failed seeds are left out of the pairs, and said") {
  StudyResults r = u_curve();
  r.trials[0] = failed(r.trials[0]);
  const Verdict two = verdict(r, interior(10));
  CHECK(two.status == VerdictStatus::pass);
  CHECK(number(two, "seeds") == 2);
  REQUIRE(two.notes.size() == 2);
  CHECK(two.notes[0] == "at heads = 1 seed 0 failed and is in no mean");
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
  ClaimConfig plain = interior();
  plain.log_error = false;
  CHECK(verdict(r, plain).status != VerdictStatus::not_run);
  plain.keys.factor = 2;
  CHECK(verdict(r, plain).status == VerdictStatus::not_run);
}

TEST_CASE("the argmin is where it was claimed, or not") {
  const Verdict holds = verdict(u_curve(), argmin({2, 4}));
  CHECK(holds.status == VerdictStatus::pass);
  CHECK(number(holds, "argmin") == 4);
  CHECK(number(holds, "rival_x") == 8);
  CHECK(summary(holds).starts_with("8 heads 2.95× ["));
  CHECK(says(holds, "With 8 heads the error is 2.95× ["));

  const Verdict elsewhere = verdict(u_curve(), argmin({8}));
  CHECK(elsewhere.status == VerdictStatus::fail);
  CHECK(number(elsewhere, "argmin") == 4);
  CHECK(number(elsewhere, "claimed_x") == 8);
  CHECK(number(elsewhere, "ratio") == Approx(1 / number(holds, "ratio")));
  CHECK(elsewhere.p_against < 0.02);

  const StudyResults noisy = study({1, 2}, {{1.0, 1.2, 0.9}, {1.1, 1.0, 1.1}});
  CHECK(verdict(noisy, argmin({2})).status == VerdictStatus::undecided);
}

TEST_CASE("a computed tie counts for the claim, a sampled one decides nothing") {
  const StudyResults r = study({1, 2, 4}, {{1, 2}, {1, 2}, {3, 4}});
  const auto computed = [](ClaimConfig c) {
    c.deterministic = true;
    return c;
  };
  CHECK(verdict(r, computed(argmin({1}))).status == VerdictStatus::pass);
  CHECK(verdict(r, computed(argmin({2}))).status == VerdictStatus::pass);
  CHECK(verdict(r, computed(argmin({4}))).status == VerdictStatus::fail);
  CHECK(verdict(r, argmin({2})).status == VerdictStatus::undecided);
  CHECK(verdict(r, argmin({2})).p == 1);
}

TEST_CASE("what is the same at every seed is undecided where it is sampled, exact where it is computed") {
  const StudyResults r = study({1, 2}, {{1, 1, 1}, {3, 3, 3}});
  ClaimConfig c = argmin({1});
  const Verdict sampled = verdict(r, c);
  CHECK(sampled.status == VerdictStatus::undecided);
  CHECK(sampled.p == 1);
  CHECK(sampled.p_against == 1);
  CHECK_FALSE(sampled.seeds_needed);
  CHECK(std::isnan(sampled.margin));
  CHECK(std::isnan(sampled.intervals.at(0).low));
  CHECK(says(sampled, "Undecided: every seed gives the same value, so nothing can be tested; "));
  CHECK(summary(sampled).ends_with(", the same at every seed"));
  CHECK(verdict(r, argmin({2})).status == VerdictStatus::undecided);
  c.deterministic = true;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  // Noise in the difference alone is enough for a test.
  CHECK(verdict(study({1, 2}, {{1, 1, 1}, {3, 3.1, 2.9}}), argmin({1})).status == VerdictStatus::pass);
}

TEST_CASE("diverged metrics are judged like others") {
  const std::vector<std::vector<double>> errors{{1.0, 1.2, 0.9}, {0.01, 0.011, 0.0095}, {0.2, 0.21, 0.19}};
  for (const double unit : {1e-307, 1e100, 1e307}) {
    std::vector<std::vector<double>> scaled = errors;
    for (std::vector<double>& of_x : scaled)
      for (double& value : of_x) value *= unit;
    for (const bool on_logs : {true, false}) {
      INFO(unit << (on_logs ? " on logs" : ""));
      ClaimConfig c = interior(1.1);
      c.log_error = on_logs;
      const Verdict v = verdict(study({1, 4, 16}, scaled), c), wanted = verdict(study({1, 4, 16}, errors), c);
      CHECK(v.status == VerdictStatus::pass);
      CHECK(v.p == Approx(wanted.p).epsilon(1e-9));
    }
  }
}

TEST_CASE("log_error takes the geometric mean") {
  // Arithmetic means 5.05 and 2; geometric means 1 and 2.
  const StudyResults r = study({1, 2}, {{0.1, 10}, {2, 2}});
  ClaimConfig c = argmin({1});
  CHECK(number(verdict(r, c), "ratio") == Approx(2));
  c.log_error = false;
  CHECK(number(verdict(r, c), "ratio") == Approx(2 / 5.05));
  CHECK(verdict(r, c).intervals.at(0).name == "ratio_difference");
}

TEST_CASE("within a factor of the best") {
  const Verdict near = verdict(u_curve(), within(8, 5));
  CHECK(near.status == VerdictStatus::pass);
  CHECK(number(near, "ratio") == Approx(std::cbrt(3 * (0.028 / 0.011) * (0.032 / 0.0095))));
  CHECK(number(near, "best_x") == 4);
  CHECK(verdict(u_curve(), within(8, 3)).status == VerdictStatus::undecided);
  CHECK(verdict(u_curve(), within(8, 1.2)).status == VerdictStatus::fail);
  CHECK(says(verdict(u_curve(), within(8, 1.2)), "With 8 heads the error is 2.95× ["));
  CHECK(verdict(u_curve(), within(4, 1)).status == VerdictStatus::pass);
  // Against the best other it holds; another one spreads too widely to tell, and the sentence names it.
  const StudyResults noisy = study({1, 2, 4}, {{1.00, 1.01, 1.02}, {1.00, 1.01, 1.015}, {0.5, 4.0, 1.3}});
  const Verdict open = verdict(noisy, within(1, 1.5));
  CHECK(open.status == VerdictStatus::undecided);
  CHECK(says(open, "that with 2 heads, the best of the others, and "));
  CHECK(says(open, " that with 4 heads, which leaves it open; the claim needs ≤ 1.5×."));
}

TEST_CASE("the best x is chosen on validation") {
  StudyResults r = u_curve();
  for (TrialRecord& t : r.trials) t.validation["mse"] = t.x == 8 ? 0.001 : t.test["mse"];
  CHECK(number(verdict(r, interior()), "best_x") == 8);
  CHECK(verdict(r, interior()).p == verdict(u_curve(), interior()).p);  // the test is over all x, whichever is shown
}

TEST_CASE("several claims are corrected by Holm") {
  // p = 0.037 alone: 0.074 where another claim of the study has no better one.
  StudyResults r = study({1, 2, 4}, {{2, 4, 8}, {1, 1, 1}, {8, 8.01, 7.99}});
  r.claims = {interior(), interior()};
  std::vector<Verdict> both = judge(r);
  CHECK(both[0].status == VerdictStatus::undecided);
  CHECK(both[0].p == Approx(1 - std::sqrt(6.0 / 7)));
  ClaimConfig computed = interior();
  computed.deterministic = true;
  r.claims = {interior(), computed};  // what is computed is no test
  both = judge(r);
  CHECK(both[0].status == VerdictStatus::pass);
  CHECK(both[1].status == VerdictStatus::pass);
  CHECK(std::isnan(both[1].p));
}

TEST_CASE("of two claims that exclude each other at most one passes") {
  StudyResults r = u_curve();
  ClaimConfig arm = interior(2), near = within(16, 100);  // both are true
  arm.id = "arm";
  r.claims = {arm, near};
  CHECK(judge(r)[0].status == VerdictStatus::pass);
  CHECK(judge(r)[1].status == VerdictStatus::pass);
  r.claims[1].excludes = {"arm"};
  for (const Verdict& v : judge(r)) {
    CHECK(v.status == VerdictStatus::undecided);
    CHECK(contains(v.notes.back(), "the data also support "));
  }
}

TEST_CASE("an arm and its absence by the same factor cannot both pass") {
  for (double end : {0.01, 0.0105, 0.011, 0.0115, 0.012, 0.02}) {
    const StudyResults r =
        study({1, 2, 4}, {{0.1, 0.11, 0.1}, {0.0100, 0.0101, 0.0099}, {end, end * 1.01, end * 0.985}});
    const ClaimConfig worse = claim("worse_than_best", {.at = 4, .factor = 1.1});
    const bool arm = verdict(r, worse).status == VerdictStatus::pass;
    const bool flat = verdict(r, within(4, 1.1)).status == VerdictStatus::pass;
    CAPTURE(end);
    CHECK_FALSE((arm && flat));
    CHECK(arm == (end > 0.0112));
    CHECK(flat == (end < 0.011));
  }
}

TEST_CASE("the error of finite test data is in the interval") {
  StudyResults r = u_curve();
  const Verdict alone = verdict(r, interior());
  CHECK(contains(alone.notes.back(), "not the error of the finite test data"));
  for (TrialRecord& t : r.trials) {
    const double m = t.test["mse"], spread = t.x == 1 ? 0.5 : 0.1;  // of x = 1 the parts differ more than elsewhere
    t.test_parts["mse"] = {m * (1 - spread), m * (1 + spread), m * (1 - spread), m * (1 + spread)};
  }
  const Verdict with = verdict(r, interior());
  CHECK(with.notes.empty());
  CHECK(with.intervals[0].method == "crossed t on logs, Bonferroni over 3");
  CHECK(with.intervals[0].low < alone.intervals[0].low);
  r.trials[0].test_parts.clear();  // one trial without parts leaves its pairs without
  CHECK(verdict(r, interior()).intervals[0].method == "t on logs, Bonferroni over 3");
}

TEST_CASE("computed values on a text are tested over its parts") {
  StudyResults r = study({1, 2}, {{1.02}, {1.00}});
  ClaimConfig c = claim("band", {.limits = {.high = 1.03}});
  c.deterministic = true;
  CHECK(std::isnan(verdict(r, c).p));
  const auto set_parts = [&](double spread) {
    for (TrialRecord& t : r.trials)
      for (int k = 0; k < 16; ++k) t.test_parts["mse"].push_back(t.test["mse"] + spread * (k % 2 ? 1 : -1));
  };
  set_parts(0.005);
  const Verdict near = verdict(r, c);
  CHECK(near.status == VerdictStatus::pass);
  CHECK(near.p > 0);
  // The error of 16 values ± 0.005 is 0.005 / √15; t(15) beyond 0.01 of it.
  CHECK(near.margin == Approx(0.01 / (0.005 / std::sqrt(15))));
  CHECK(near.intervals.at(1).method == "t over parts of the text, Bonferroni over 2");
  CHECK(contains(near.notes.back(), "other texts may differ by more"));
  for (TrialRecord& t : r.trials) t.test_parts.clear();
  set_parts(0.1);
  const Verdict far = verdict(r, c);
  CHECK(far.status == VerdictStatus::undecided);
  CHECK_FALSE(far.seeds_needed);  // more seeds would give the same
  CHECK(says(far, "Undecided: on a longer text more could be said."));
  // What two values have in common is no error of their ratio.
  ClaimConfig falls = claim("monotone", {.factor = 1.01, .direction = "falling"});
  falls.deterministic = true;
  const Verdict ratio = verdict(r, falls);
  CHECK(ratio.status == VerdictStatus::pass);
  CHECK(ratio.intervals.at(0).method == "t on logs over parts of the text");
  for (TrialRecord& t : r.trials) t.steps = 100;  // a trained model's value is one of many: each is counted
  CHECK(std::isnan(verdict(r, c).p));
}

TEST_CASE("a claim about an x that was not swept is not judged") {
  CHECK(says(verdict(u_curve(), argmin({4, 32})), "heads = 32 is no point of the sweep"));
  CHECK(verdict(u_curve(), argmin({4, 32})).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), within(32, 3)).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), argmin({})).status == VerdictStatus::not_run);
  CHECK(verdict(u_curve(), claim("within_factor")).status == VerdictStatus::not_run);
  CHECK(verdict(study({}, {}), interior()).status == VerdictStatus::not_run);
}

TEST_CASE("each claim is judged on its own series") {
  StudyResults r = u_curve();
  r.series = {"falling", "u"};
  for (TrialRecord& t : r.trials) t.series = "u";
  for (double x : {1, 2, 4})
    for (int seed : {0, 1}) {
      r.trials.push_back(testing::trial(x, seed, (1 + 0.001 * seed * x) / x));
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
      contains(error_of([&] { verdict(u_curve(), claim("optimal")); }), "interior_optimum, optimum_at, within_factor"));
}

TEST_CASE("verdicts do not depend on the order of the trials") {
  StudyResults r = u_curve();
  const Verdict before = verdict(r, interior(10));
  std::mt19937 random(3);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(r.trials.begin(), r.trials.end(), random);
    const Verdict after = verdict(r, interior(10));
    CHECK(after.numbers == before.numbers);  // to the last bit
    CHECK(sentence(after) == sentence(before));
  }
}

TEST_CASE("claims have names for a list") {
  CHECK(claim_name(argmin({32})) == "optimum_at [32]");
  CHECK(claim_name(within(32, 3)) == "within_factor 32 ≤ 3×");
  ClaimConfig c = interior();
  c.series = "D 256";
  CHECK(claim_name(c) == "interior_optimum · D 256");
}

}  // namespace headroom::experiments
