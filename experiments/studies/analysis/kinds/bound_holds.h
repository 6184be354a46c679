#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// The metric is at most `bound` in every finished trial, chosen or not; the ratio of the two is the bound's tightness.
/// That is counted, of the trials that were run: no test, and nothing is said of others.
struct BoundHolds : ClaimKind {
  BoundHolds()
      : ClaimKind({.name = "bound_holds", .numbers = {"trials", "violations", "tightness_max", "tightness_median"}}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.bound = in.text("bound", "", "a metric of the same trial, or \"overlay\"");
    if (keys.bound == "overlay") return check_overlay(in, scope);
    scope.check_metric(in, "bound", keys.bound);
    if (keys.bound == scope.metric() && !keys.bound.empty())
      in.complain("bound", "is the metric that the claim is about");
  }

  std::optional<MissingKey> missing(const ClaimConfig& claim) const override {
    return unless(!claim.keys.bound.empty(), "bound", "a metric or \"overlay\"");
  }

  std::string details(const ClaimKeys& keys) const override { return " " + keys.bound; }

  std::optional<Hypothesis> hypothesis(const Case&) const override { return std::nullopt; }

  std::string measure(const Case& c, Verdict& verdict) const override {
    const std::string& bound = c.claim.keys.bound;
    const bool is_overlay = bound == "overlay";
    const Overlay* overlay = is_overlay ? overlay_of(c.study, c.curve.series) : nullptr;
    if (is_overlay && !overlay) return "the series has no overlay";
    std::vector<double> tightness;
    double largest = 0;
    int violations = 0, without = 0;
    std::string worst;
    for (const TrialRecord* one : ordered_trials(c.study)) {
      const TrialRecord& trial = *one;
      if (trial.series != c.curve.series || trial.status != TrialStatus::finished || !c.curve.at(trial.x)) continue;
      const std::optional<double> value = measured(trial, c.curve.metric);
      const std::optional<double> limit = is_overlay ? overlay_at(*overlay, trial.x) : measured(trial, bound);
      // An infinite value is above every finite bound.
      if (!value || std::isnan(*value) || !limit || std::isnan(*limit) || (std::isinf(*value) && std::isinf(*limit))) {
        ++without;
        continue;
      }
      if (!(*value <= *limit)) ++violations;
      const double ratio = *value / *limit;
      if (tightness.empty() || ratio > largest) {
        largest = ratio;
        worst = fmt::format("{} = {} seed {}: {} against {}", c.axis, exact(trial.x), trial.seed, rounded(*value),
                            rounded(*limit));
      }
      tightness.push_back(ratio);
    }
    if (tightness.empty()) return fmt::format("no trial has both {} and {}", c.curve.metric, bound);
    const double middle = median(tightness);
    verdict.numbers = {{"trials", static_cast<double>(tightness.size())},
                       {"violations", violations},
                       {"tightness_max", largest},
                       {"tightness_median", middle}};
    verdict.measured = largest;
    verdict.summary =
        fmt::format("{} of {} above, at most {} of the bound", violations, tightness.size(), rounded(largest));
    verdict.brief = {fmt::format("{} of {} trials above", violations, tightness.size()),
                     fmt::format("at most {} of the bound", rounded(largest)), "needs none above"};
    verdict.found =
        fmt::format("{} of {} trials {} above the bound ({}); {} / bound is at most {} ({}), and {} at the median",
                    violations, tightness.size(), violations == 1 ? "lies" : "lie", bound, c.curve.metric,
                    rounded(largest), worst, rounded(middle));
    if (without > 0)
      verdict.notes.push_back(fmt::format("{} trials have no value or no bound, and are not judged", without));
    verdict.status = violations == 0 ? VerdictStatus::pass : VerdictStatus::fail;
    return "";
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
