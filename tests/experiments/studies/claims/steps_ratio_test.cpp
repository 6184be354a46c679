// The kind of claim about the steps to a value: steps_ratio; and values that are bounds.
#include <cmath>
#include <string>

#include "experiments/studies/analysis/case.h"
#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Errors (steps / x)^-2 of two series at x = 100, 200, 400, 800, which the straight line on log–log axes joins: a
/// series reaches 1 at its steps, times what is of each seed.
StudyResults slow_and_fast(double slow, double fast) {
  StudyResults r = study({}, {});
  r.series = {"slow", "fast"};
  r.report.x_key = "train.steps";
  const double of_seed[] = {1, 1.03, 0.98};
  for (const std::string& name : r.series)
    for (const double x : {100, 200, 400, 800})
      for (int s = 0; s < 3; ++s) {
        const double steps = name == "slow" ? slow * of_seed[s] : fast * of_seed[(s + 1) % 3];
        r.trials.push_back(in_series(trial(x, s, std::pow(steps / x, 2)), name));
      }
  r.planned = std::ssize(r.trials);
  return r;
}

ClaimConfig ratio_within(Limits limits) {
  ClaimConfig c = claim("steps_ratio", {.limits = limits, .value = 1, .than = {.series = "fast"}});
  c.series = "slow";
  return c;
}

VerdictStatus status(const StudyResults& r, Limits limits) { return verdict(r, ratio_within(limits)).status; }

/// The trials with their test data in three parts: pseudo-values around the error.
StudyResults in_parts(StudyResults r) {
  for (TrialRecord& t : r.trials) {
    const double error = t.test.at("mse");
    t.test_parts["mse"] = {error * 1.2, error * 0.9, error * 0.9};
  }
  return r;
}

}  // namespace

TEST_CASE("steps to a value are read off seed by seed, and their ratio is compared with limits") {
  const StudyResults r = slow_and_fast(600, 150);
  const Verdict v = verdict(r, ratio_within({.low = 3}));
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "ratio") == Approx(4));
  CHECK(number(v, "steps") == Approx(600 * std::cbrt(1.03 * 0.98)));
  CHECK(number(v, "other_steps") == Approx(150 * std::cbrt(1.03 * 0.98)));
  CHECK(summary(v).starts_with("4.00× ["));
  CHECK(v.notes.size() == 1);  // without parts of the test data
  CHECK(status(r, {.low = 5}) == VerdictStatus::fail);
  CHECK(status(r, {.high = 5}) == VerdictStatus::pass);
  CHECK(status(r, {.low = 3, .high = 5}) == VerdictStatus::pass);
  CHECK(status(r, {.low = 3, .high = 3.5}) == VerdictStatus::fail);

  // The same test as `less_than` of the steps themselves.
  StudyResults steps = study({1, 2}, {{}, {}});
  const double of_seed[] = {1, 1.03, 0.98};
  for (int s = 0; s < 3; ++s) {
    steps.trials.push_back(trial(1, s, 150 * of_seed[(s + 1) % 3]));
    steps.trials.push_back(trial(2, s, 600 * of_seed[s]));
  }
  steps.planned = 6;
  CHECK(verdict(steps, claim("less_than", {.at = 1, .factor = 3, .than = {.at = 2}})).p == Approx(v.p));
}

TEST_CASE("a value that was not reached is a lower bound, which speaks for one side alone") {
  const StudyResults all = slow_and_fast(3000, 150), one = slow_and_fast(790, 150);
  for (const StudyResults& r : {all, one}) {
    const Verdict v = verdict(r, ratio_within({.low = 3}));
    CHECK(v.status == VerdictStatus::pass);
    CHECK(summary(v).starts_with("≥ 5."));
    CHECK(v.intervals.at(0).low > 3);
    CHECK(v.intervals.at(0).high == INFINITY);
    CHECK(status(r, {.low = 50}) == VerdictStatus::undecided);  // it may be more
    CHECK(status(r, {.high = 50}) == VerdictStatus::undecided);
    CHECK(status(r, {.high = 2}) == VerdictStatus::fail);
    CHECK(std::isnan(verdict(r, ratio_within({.low = 50})).margin));
  }
  CHECK(says(verdict(all, ratio_within({.low = 3})), "a bound for 3 of 3 seeds"));
  CHECK(says(verdict(one, ratio_within({.low = 3})), "a bound for 1 of 3 seeds"));
  CHECK(number(verdict(all, ratio_within({.low = 3})), "steps") == Approx(800));

  // Where the other was there at the first x, its steps are an upper bound; where it never was, a lower one.
  CHECK(status(slow_and_fast(600, 95), {.low = 3}) == VerdictStatus::pass);
  CHECK(status(slow_and_fast(600, 95), {.high = 3}) == VerdictStatus::fail);
  CHECK(status(slow_and_fast(600, 95), {.high = 9}) == VerdictStatus::undecided);
  CHECK(status(slow_and_fast(150, 3000), {.high = 0.5}) == VerdictStatus::pass);
  CHECK(status(slow_and_fast(150, 3000), {.low = 0.1}) == VerdictStatus::undecided);
  // Neither was there: nothing is known of the ratio.
  CHECK(status(slow_and_fast(3000, 790), {.low = 0.1}) == VerdictStatus::undecided);
  CHECK(status(slow_and_fast(3000, 790), {.high = 10}) == VerdictStatus::undecided);
}

TEST_CASE("a seed that lacks an x, or did not learn by the last, tells no steps") {
  StudyResults r = slow_and_fast(600, 150);
  for (TrialRecord& t : r.trials)
    if (t.series == "slow" && t.x == 200 && t.seed == 0) t = testing::failed(t);
  CHECK(number(verdict(r, ratio_within({.low = 3})), "seeds") == 2);

  StudyResults stuck = slow_and_fast(600, 150);
  stuck.report.y_metric = "relative_mse";
  for (TrialRecord& t : stuck.trials) {
    const bool fails = t.series == "slow" && t.seed == 2;
    t.test["relative_mse"] = t.validation["relative_mse"] = fails ? 0.95 : 0.01 * t.test.at("mse");
  }
  ClaimConfig c = ratio_within({.low = 1.01});
  c.keys.value = 0.01;
  CHECK(contains(verdict(stuck, c).notes[0], "only 2 of 3 seeds learned the target at steps = 800"));
  c.log_error = false;
  CHECK(verdict(stuck, c).status == VerdictStatus::not_run);
}

TEST_CASE("bounds alone have no spread, and nothing to test") {
  const Verdict v = verdict(in_parts(slow_and_fast(3000, 50)), ratio_within({.low = 3}));
  CHECK(v.status == VerdictStatus::undecided);
  CHECK(summary(v) == "≥ 8.00× the steps of fast, the same at every seed");
}

TEST_CASE("the error of finite test data is in the steps") {
  const StudyResults r = in_parts(slow_and_fast(600, 150));
  const Verdict v = verdict(r, ratio_within({.low = 3}));
  CHECK(v.notes.empty());
  CHECK(v.intervals.at(0).method == "crossed t on logs");
  // Every x of both series moves alike: the steps of both change by the same factor, and their ratio does not.
  CHECK(v.p == Approx(verdict(slow_and_fast(600, 150), ratio_within({.low = 3})).p));
  StudyResults other = r;
  for (TrialRecord& t : other.trials)
    if (t.series == "fast") std::swap(t.test_parts["mse"][0], t.test_parts["mse"][1]);
  CHECK(verdict(other, ratio_within({.low = 3})).p > 2 * v.p);
}

TEST_CASE("a metric steps_to that counts one step more than were done is a lower bound") {
  StudyResults r = study({1, 2}, {{100, 104, 98}, {401, 401, 390}});
  r.report.y_metric = "steps_to";
  for (TrialRecord& t : r.trials) {
    t.steps = 400;
    t.test["steps_to"] = t.validation["steps_to"] = t.test.at("mse");
  }
  const ClaimConfig few = claim("less_than", {.at = 1, .factor = 2, .than = {.at = 2}});
  const auto less = [&](double at, double than, double factor) {
    return verdict(r, claim("less_than", {.at = at, .factor = factor, .than = {.at = than}}));
  };
  CHECK(less(1, 2, 10).status == VerdictStatus::undecided);  // 4 times, or more
  CHECK(contains(less(2, 1, 1).notes[0], "at heads = 2 2 of 3 seeds did not get there"));
  CHECK(verdict(r, few).status == VerdictStatus::undecided);  // only one seed says how much they spread
  for (TrialRecord& t : r.trials)
    if (t.x == 2) t.test["steps_to"] = 401;
  CHECK(verdict(r, few).status == VerdictStatus::pass);  // what spreads is the other
  CHECK(less(2, 1, 1).status == VerdictStatus::fail);
  CHECK(contains(summary(less(2, 1, 1)), " ≥ 3.98×"));
}

}  // namespace headroom::experiments
