// Kinds of claim about where the best x is: optimum_at by a range, optimum_differs.
#include <cmath>
#include <string>

#include "experiments/studies/analysis/case.h"
#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Two series over x = 1, 2, 4, 8 with four seeds: "short" is best at 2, "long" at 4, each 3 times better there than at
/// its neighbours.
StudyResults short_and_long(double apart = 3) {
  StudyResults r = study({}, {});
  r.series = {"long", "short"};
  const double noise[] = {1, 1.04, 0.97, 1.01};
  for (const std::string& name : r.series)
    for (int i = 0; i < 4; ++i)
      for (int s = 0; s < 4; ++s) {
        const int off = std::abs(i - (name == "short" ? 1 : 2));
        const double error = 0.01 * std::pow(apart, off) * noise[(s + i) % 4];
        r.trials.push_back(in_series(trial(std::exp2(i), s, error), name));
      }
  r.planned = std::ssize(r.trials);
  return r;
}

ClaimConfig differs(double factor = 1, const char* direction = "") {
  ClaimConfig c = claim("optimum_differs", {.factor = factor, .direction = direction, .than = {.series = "short"}});
  c.series = "long";
  return c;
}

}  // namespace

TEST_CASE("the best x is in a range as it is among the x of it") {
  const Verdict range = verdict(u_curve(), claim("optimum_at", {.limits = {2, 4}}));
  const Verdict named = verdict(u_curve(), claim("optimum_at", {.among = {2, 4}}));
  CHECK(range.status == VerdictStatus::pass);
  CHECK(range.p == named.p);
  CHECK(range.intervals.at(0).high == named.intervals.at(0).high);
  CHECK(claim_name(range.claim) == "optimum_at [2, 4]");
  CHECK(claim_name(claim("optimum_at", {.limits = {.low = 8}})) == "optimum_at [8, ∞]");
  CHECK(verdict(u_curve(), claim("optimum_at", {.limits = {.low = 8}})).status == VerdictStatus::fail);
  CHECK(says(verdict(u_curve(), claim("optimum_at", {.limits = {5, 7}})), "no heads was measured in [5, 7]"));
}

TEST_CASE("two best x differ where no x comes near the best of both") {
  const Verdict apart = verdict(short_and_long(), differs(1.1));
  CHECK(apart.status == VerdictStatus::pass);
  CHECK(number(apart, "best_x") == 4);
  CHECK(number(apart, "other_best_x") == 2);
  CHECK(number(apart, "ratio") == Approx(3).epsilon(0.02));
  CHECK(says(
      apart,
      "The error is best with 4 heads for long and at 2 for short; with 2 heads for both, one of them is 3.00× ["));
  CHECK(verdict(short_and_long(), differs(4)).status == VerdictStatus::fail);

  CHECK(verdict(short_and_long(), differs(1.1, "larger")).status == VerdictStatus::pass);
  CHECK(verdict(short_and_long(), differs(1.1, "smaller")).status == VerdictStatus::fail);

  // A series against its copy: whatever the noise, the best x is the same.
  StudyResults same = short_and_long();
  for (TrialRecord& t : same.trials)
    if (t.series == "short")
      t.test["mse"] = t.validation["mse"] = same.trials[static_cast<size_t>(&t - same.trials.data()) - 16].test["mse"];
  CHECK(verdict(same, differs(1.1)).status == VerdictStatus::fail);
  CHECK(number(verdict(same, differs(1.1)), "ratio") < 1);
  CHECK(verdict(same, differs(1.1, "larger")).status == VerdictStatus::fail);
}

TEST_CASE("the interval of the least cost is the test of optimum_differs turned round") {
  const auto p_at = [](double factor, const char* direction) {
    return verdict(short_and_long(1.3), differs(factor, direction));
  };
  for (const char* direction : {"", "larger"}) {
    const ConfidenceInterval cost = p_at(1, direction).intervals.at(0);
    CHECK(cost.level == Approx(0.9));
    CHECK(p_at(cost.low, direction).p == Approx(0.05));
    CHECK(p_at(cost.high, direction).p_against == Approx(0.05));
  }
}

TEST_CASE("two best x where more is better, where a value was computed, and where an x was not learned") {
  StudyResults right = short_and_long();
  for (TrialRecord& t : right.trials) t.test = {{"accuracy", 0.001 / t.test.at("mse")}};
  ClaimConfig accuracy = differs(1.1);
  accuracy.metric = "accuracy";
  const Verdict more = verdict(right, accuracy), less = verdict(short_and_long(), differs(1.1));
  CHECK(more.p == Approx(less.p));
  CHECK(more.intervals.at(0).low == Approx(less.intervals.at(0).low));

  // Computed values need one seed; a tie is a best x in common.
  StudyResults computed = short_and_long();
  std::erase_if(computed.trials, [](const TrialRecord& t) { return t.seed > 0; });
  computed.planned = std::ssize(computed.trials);
  ClaimConfig exact = differs();
  exact.deterministic = true;
  CHECK(verdict(computed, exact).status == VerdictStatus::pass);
  for (TrialRecord& t : computed.trials) t.test["mse"] = t.series == "long" && t.x == 4 ? 1 : 2;
  CHECK(verdict(computed, exact).status == VerdictStatus::fail);

  ClaimConfig plain = differs(1.1);
  plain.log_error = false;
  const Verdict difference = verdict(short_and_long(), plain);
  CHECK(difference.status == VerdictStatus::pass);
  CHECK(difference.intervals.at(0).name == "ratio_difference");

  // Where one of them learned nothing at any x, nothing there is better than anything.
  StudyResults unlearned = short_and_long();
  for (TrialRecord& t : unlearned.trials) {
    const double error = t.test["mse"] * (t.series == "short" ? 100 : 1);
    t.test = t.validation = {{"relative_mse", error}};
  }
  ClaimConfig relative = differs(1.1);
  relative.metric = "relative_mse";
  unlearned.report.y_metric = "relative_mse";
  const Verdict open = verdict(unlearned, relative);
  CHECK(open.status == VerdictStatus::undecided);
  CHECK(says(open, "no seed of short learned the target at heads = 1"));

  StudyResults elsewhere = short_and_long();
  for (TrialRecord& t : elsewhere.trials)
    if (t.series == "short") t.x += 0.5;
  CHECK(says(verdict(elsewhere, differs(1.1)), "there is no heads at which both were measured"));
}

}  // namespace headroom::experiments
