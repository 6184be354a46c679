#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The metric is at most `bound` in every finished trial, chosen or not; the ratio of the two is the bound's tightness.
/// That is counted, of the trials that were run: no test, and nothing is said of others.
struct BoundHolds : ClaimKind {
  BoundHolds()
      : ClaimKind({.name = "bound_holds",
                   .form = Form::bound,
                   .numbers = {"trials", "violations", "tightness_max", "tightness_median"},
                   .required = {{"bound", "a metric or \"overlay\""}}}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.bound = in.text("bound", "", "a metric of the same trial, or \"overlay\"");
    if (keys.bound == "overlay") return check_overlay(in, scope);
    scope.check_metric(in, "bound", keys.bound);
    if (keys.bound == scope.metric() && !keys.bound.empty())
      in.complain("bound", "is the metric that the claim is about");
  }

  std::string details(const ClaimKeys& keys) const override { return " " + keys.bound; }

  std::optional<Hypothesis> hypothesis(const Case&) const override { return std::nullopt; }

  Finding measure(const Case& c) const override {
    const std::string& bound = c.claim.keys.bound;
    const bool is_overlay = bound == "overlay";
    const Overlay* overlay = is_overlay ? overlay_of(c.study, c.curve.series) : nullptr;
    if (is_overlay && !overlay) fail("the series has no overlay");
    std::vector<double> tightness;
    double largest = 0;
    double violations = 0;
    Finding out;
    for (const TrialRecord* one : ordered_trials(c.study)) {
      const TrialRecord& trial = *one;
      if (trial.series != c.curve.series || trial.status != TrialStatus::finished || !c.curve.at(trial.x)) continue;
      const std::optional<double> value = measured(trial, c.curve.metric);
      const std::optional<double> limit = is_overlay ? overlay_at(*overlay, trial.x) : measured(trial, bound);
      // An infinite value is above every finite bound.
      if (!value || std::isnan(*value) || !limit || std::isnan(*limit) || (std::isinf(*value) && std::isinf(*limit))) {
        ++out.unjudged;
        continue;
      }
      if (!(*value <= *limit)) ++violations;
      const double ratio = *value / *limit;
      if (tightness.empty() || ratio > largest) {
        largest = ratio;
        out.points = {{.x = trial.x, .value = *value}, {.value = *limit}};
      }
      tightness.push_back(ratio);
    }
    if (tightness.empty()) fail("no trial has both {} and {}", c.curve.metric, bound);
    out.measured = largest;
    out.values = {static_cast<double>(tightness.size()), violations, largest, median(tightness)};
    out.holds = violations == 0;
    return out;
  }

 private:
  static void check_overlay(Reader& in, const ClaimScope& scope) {
    if (!scope.is_known()) return;
    const std::set<double>& points = scope.of().overlay;
    const std::vector<double> x = scope.x();
    if (points.empty()) in.complain("bound", "the series has no overlay: report.overlay draws one");
    else if (std::none_of(x.begin(), x.end(), [&](double at) { return points.contains(at); }))
      in.complain("bound", fmt::format("the overlay has no point at any {} of the claim", scope.x_name()));
  }
};

}  // namespace headroom::experiments
