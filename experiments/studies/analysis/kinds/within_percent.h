#pragma once
#include "experiments/studies/analysis/kinds/kind.h"

namespace headroom::experiments {

/// |value / target − 1| ≤ percent / 100 at `at`, or without it at every x: a test of equivalence at each. The target is
/// the metric `of` of the same trials, the number `value`, or the paper's, one number or a column of numbers by x,
/// which count as exact.
struct WithinPercent : ClaimKind {
  WithinPercent()
      : ClaimKind({.name = "within_percent",
                   .form = Form::target,
                   .numbers = {"percent", "worst_x", "points", "seeds"},
                   .required = {{"of", "of, value or reference: the target"}}}) {}

  void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const override {
    keys.at = read_at(in, scope);
    keys.percent = read_percent(in);
    keys.of = in.text("of", "", "the target, a metric of the same trials");
    keys.value = in.optional_real("value", {}, "the target, a number; without either: the paper's");
    scope.check_metric(in, "of", keys.of);
    if (keys.of == scope.metric() && !keys.of.empty()) in.complain("of", "is the metric that the claim is about");
    if (!keys.of.empty() && keys.value) in.complain("value", "expected either of or value");
  }

  std::string details(const ClaimKeys& keys) const override {
    const std::string target = !keys.of.empty() ? keys.of : keys.value ? exact(*keys.value) : "the paper's";
    return fmt::format("{} {} % of {}", keys.at ? " at " + exact(*keys.at) : "", exact(keys.percent), target);
  }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    const Curve metric = targets(c);
    std::vector<Hypothesis> sides;
    for (const Comparison& one : comparisons(c, metric)) {
      for (const double side : {1.0, -1.0}) {  // value · sign(target) against |target| (1 ± share)
        const double limit = 1 + side * c.claim.keys.percent / 100, sign = one.target < 0 ? -1 : 1;
        const Estimate number =
            one.metric ? c.combine({{&one.point, sign}, {one.metric, -sign * limit}}) : c.combine({{&one.point, sign}});
        const double threshold = one.metric ? 0 : sign * one.target * limit;
        sides.push_back(side > 0 ? Hypothesis::at_most(number, threshold) : Hypothesis::at_least(number, threshold));
      }
    }
    return Hypothesis::all_of(std::move(sides));
  }

  Finding measure(const Case& c) const override {
    const Curve metric = targets(c);
    const std::vector<Comparison> all = comparisons(c, metric);
    if (all.empty()) fail("there is no number to compare with");
    const auto off = [](const Comparison& one) {
      const double distance = one.point.mean - one.target;
      return one.target == 0 ? (distance == 0 ? 0 : INFINITY) : 100 * distance / std::abs(one.target);
    };
    const Comparison& worst = *std::max_element(all.begin(), all.end(), [&](const Comparison& a, const Comparison& b) {
      return std::abs(off(a)) < std::abs(off(b));
    });
    const Estimate difference =
        worst.metric ? c.combine({{&worst.point, 1}, {worst.metric, -1}}) : c.combine({{&worst.point, 1}});
    ConfidenceInterval apart = c.interval(worst.metric ? "difference" : "value", difference, all.size());
    apart.of = {.x = worst.point.x, .value = worst.point.mean};
    apart.to = {.value = worst.target};
    Finding out{.measured = off(worst),
                .values = {off(worst), worst.point.x, static_cast<double>(all.size())},
                .intervals = {apart}};
    if (c.claim.keys.of.empty() && !paper_points(c.claim.reference).empty()) {
      for (const Comparison& one : all) {
        PaperPath path = c.claim.reference;
        path.push_back(exact(one.point.x));
        out.beside.emplace_back(path, one.point.mean);
      }
    }
    return out;
  }

 private:
  struct Comparison {
    const Point& point;
    const Point* metric;  ///< the target where it is measured, too
    double target;
  };

  /// The curve of `of`.
  static Curve targets(const Case& c) {
    const std::string& of = c.claim.keys.of;
    return of.empty() ? Curve{} : curve_in_range(c.study, c.curve.series, of, c.claim);
  }

  /// The values and what they are compared with, at each x that has both.
  static std::vector<Comparison> comparisons(const Case& c, const Curve& metric) {
    const ClaimKeys& keys = c.claim.keys;
    const auto column =
        keys.of.empty() && !keys.value ? paper_points(c.claim.reference) : std::vector<std::pair<double, double>>{};
    const std::optional<double> paper = c.claim.paper_number ? c.claim.paper_number : paper_number(c.claim.reference);
    std::vector<Comparison> all;
    for (const Point& p : c.curve.points) {
      if (keys.at && p.x != *keys.at) continue;
      if (!keys.of.empty()) {
        const Point* target = metric.at(p.x);
        if (target && !target->values.empty()) all.push_back({p, target, target->mean});
        continue;
      }
      for (const auto& [x, number] : column)
        if (x == p.x) all.push_back({p, nullptr, number});
      if (column.empty() && (keys.value || paper)) all.push_back({p, nullptr, keys.value ? *keys.value : *paper});
    }
    return all;
  }
};

}  // namespace headroom::experiments
