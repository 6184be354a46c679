#include "experiments/studies/claims/kinds/bound_holds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/claims/overlay.h"
#include "experiments/studies/claims/statistics.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

void check_overlay(Reader& in, const ClaimScope& scope) {
  if (!scope.is_known()) return;
  const std::set<double>& points = scope.of().overlay;
  const std::vector<double> x = scope.x();
  if (points.empty()) in.complain("bound", "the series has no overlay: report.overlay draws one");
  else if (std::none_of(x.begin(), x.end(), [&](double at) { return points.contains(at); }))
    in.complain("bound", fmt::format("the overlay has no point at any {} of the claim", scope.x_name()));
}

}  // namespace

void BoundHolds::read(Reader& in, const ClaimScope& scope) {
  bound = in.text("bound", "", "a metric of the same trial, or \"overlay\"");
  if (bound == "overlay") return check_overlay(in, scope);
  scope.check_metric(in, "bound", bound);
  if (bound == scope.metric() && !bound.empty()) in.complain("bound", "is the metric that the claim is about");
}

std::optional<MissingKey> BoundHolds::missing(const ClaimConfig&) const {
  if (bound.empty()) return MissingKey{"bound", "a metric or \"overlay\""};
  return std::nullopt;
}

std::string BoundHolds::details() const { return " " + bound; }

std::optional<Hypothesis> BoundHolds::judge(const Case& c, Verdict& verdict) const {
  const bool is_overlay = bound == "overlay";
  const Overlay* overlay = is_overlay ? overlay_of(c.results, c.curve.series) : nullptr;
  if (is_overlay && !overlay) {
    not_run(verdict, "the series has no overlay");
    return std::nullopt;
  }
  std::vector<double> tightness;
  int violations = 0, without = 0;
  std::string worst;
  for (const TrialRecord* one : ordered_trials(c.results)) {
    const TrialRecord& trial = *one;
    if (trial.series != c.curve.series || trial.status != TrialStatus::finished || !c.curve.at(trial.x)) continue;
    const std::optional<double> value = measured(trial, c.curve.metric);
    const std::optional<double> limit = is_overlay ? overlay_at(*overlay, trial.x) : measured(trial, bound);
    if (!value || !std::isfinite(*value) || !limit || std::isnan(*limit)) {
      ++without;
      continue;
    }
    if (!(*value <= *limit)) ++violations;
    const double ratio = *value / *limit;
    if (tightness.empty() || ratio > *std::max_element(tightness.begin(), tightness.end()))
      worst = fmt::format("{} = {} seed {}: {} against {}", c.axis, exact(trial.x), trial.seed, rounded(*value),
                          rounded(*limit));
    tightness.push_back(ratio);
  }
  if (tightness.empty()) {
    not_run(verdict, fmt::format("no trial has both {} and {}", c.curve.metric, bound));
    return std::nullopt;
  }
  const double largest = *std::max_element(tightness.begin(), tightness.end()), middle = median(tightness);
  verdict.numbers = {{"trials", static_cast<double>(tightness.size())},
                     {"violations", violations},
                     {"tightness_max", largest},
                     {"tightness_median", middle}};
  verdict.measured = largest;
  verdict.summary =
      fmt::format("{} of {} above, at most {} of the bound", violations, tightness.size(), rounded(largest));
  verdict.found =
      fmt::format("{} of {} trials {} above the bound ({}); {} / bound is at most {} ({}), and {} at the median",
                  violations, tightness.size(), violations == 1 ? "lies" : "lie", bound, c.curve.metric,
                  rounded(largest), worst, rounded(middle));
  if (without > 0)
    verdict.notes.push_back(fmt::format("{} trials have no finite value or no bound, and are not judged", without));
  verdict.status = violations == 0 ? VerdictStatus::pass : VerdictStatus::fail;
  return std::nullopt;
}

}  // namespace headroom::experiments
