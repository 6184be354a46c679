// The kind of claim about two series at two x: gap.
#include <cmath>
#include <string>

#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Two series over x = 1, 2, 4: how many times worse "slow" is than "fast" falls from 8 to 2.
StudyResults slow_and_fast() {
  StudyResults r = study({}, {});
  r.series = {"slow", "fast"};
  const double ratios[] = {8, 5, 2}, noise[] = {1, 1.1, 0.95};
  for (int i = 0; i < 3; ++i)
    for (int s = 0; s < 3; ++s)
      for (const std::string& name : r.series) {
        const double slower = name == "slow" ? ratios[i] * noise[(s + i) % 3] : 1;
        r.trials.push_back(in_series(trial(std::exp2(i), s, slower * noise[s] / std::exp2(i)), name));
      }
  r.planned = std::ssize(r.trials);
  return r;
}

}  // namespace

TEST_CASE("a gap closes or opens from the first x to the last, as the ratio of the two series does") {
  const auto gap = [](const char* direction, double factor, double from = 1) {
    StudyResults r = slow_and_fast();
    ClaimConfig c = claim("gap", {.factor = factor, .direction = direction, .than = {.series = "fast"}});
    c.series = "slow";
    c.from = from;
    r.claims = {c};
    return judge(r).at(0);
  };
  const Verdict closing = gap("catches_up", 2);
  CHECK(closing.status == VerdictStatus::pass);
  CHECK(number(closing, "ratio_first") == Approx(8 * std::cbrt(1.1 * 0.95)));
  CHECK(number(closing, "ratio") == Approx(0.25));
  CHECK(gap("catches_up", 8).status == VerdictStatus::fail);
  CHECK(gap("falls_behind", 1).status == VerdictStatus::fail);
  CHECK(gap("catches_up", 1, 4).status == VerdictStatus::not_run);

  // For accuracies, which fall where errors grow, the numbers and the interval say the same.
  StudyResults right = slow_and_fast();
  for (TrialRecord& t : right.trials) t.test = {{"accuracy", 0.1 / t.test.at("mse")}};
  ClaimConfig accuracy = claim("gap", {.factor = 2, .direction = "catches_up", .than = {.series = "fast"}});
  accuracy.series = "slow";
  accuracy.metric = "accuracy";
  const Verdict more = verdict(right, accuracy);
  CHECK(more.status == VerdictStatus::pass);
  CHECK(number(more, "ratio") == Approx(0.25));
  CHECK(more.intervals.at(0).value == Approx(0.25));
  CHECK(more.intervals.at(0).low == Approx(closing.intervals.at(0).low));
  CHECK(more.p == Approx(closing.p));

  // A rival that reached 0 has no logarithm.
  StudyResults exact = slow_and_fast();
  for (TrialRecord& t : exact.trials)
    if (t.series == "fast" && t.x == 4) t.test["mse"] = 0;
  exact.claims = {closing.claim};
  CHECK(judge(exact).at(0).status == VerdictStatus::not_run);
  CHECK(says(judge(exact).at(0), "what it is compared with at heads = 4 reached 0: log_error = false"));

  // The same contrast as `less_than` of the ratios, two x of one series.
  StudyResults ratios = study({1, 4}, {{}, {}});
  const StudyResults both = slow_and_fast();
  for (size_t i = 0; i < both.trials.size(); i += 2)
    if (both.trials[i].x != 2)
      ratios.trials.push_back(trial(both.trials[i].x, both.trials[i].seed,
                                    both.trials[i].test.at("mse") / both.trials[i + 1].test.at("mse")));
  ratios.planned = std::ssize(ratios.trials);
  ClaimConfig less = claim("less_than", {.at = 4, .factor = 2, .than = {.at = 1}});
  ratios.claims = {less};
  CHECK(judge(ratios).at(0).p == Approx(closing.p));
}

}  // namespace headroom::experiments
