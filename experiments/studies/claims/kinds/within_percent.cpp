#include "experiments/studies/claims/kinds/within_percent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

void WithinPercent::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  percent =
      in.real("percent", percent, at_least(0), "how far from the target at most, or from a straight line at least");
  of = in.text("of", "", "the target, a metric of the same trials");
  value = in.optional_real("value", {}, "the target, a number; without either: the paper's");
  scope.check_metric(in, "of", of);
  if (of == scope.metric() && !of.empty()) in.complain("of", "is the metric that the claim is about");
  if (!of.empty() && value) in.complain("value", "expected either of or value");
}

std::optional<MissingKey> WithinPercent::missing(const ClaimConfig& claim) const {
  if (of.empty() && !value && !claim.paper_number && claim.reference.empty())
    return MissingKey{"of", "of, value or reference: the target"};
  return std::nullopt;
}

std::string WithinPercent::details() const {
  const std::string target = !of.empty() ? of : value ? exact(*value) : "the paper's";
  return fmt::format("{} {} % of {}", at ? " at " + exact(*at) : "", exact(percent), target);
}

struct WithinPercent::Comparison {
  const Point& point;
  const Point* metric;  ///< the target where it is measured, too
  double target;
};

Curve WithinPercent::targets(const Case& c) const {
  return of.empty() ? Curve{} : curve_in_range(c.results, c.curve.series, of, c.claim);
}

std::vector<WithinPercent::Comparison> WithinPercent::comparisons(const Case& c, const Curve& metric) const {
  const auto column = of.empty() && !value ? paper_points(c.claim.reference) : std::vector<std::pair<double, double>>{};
  const std::optional<double> paper = c.claim.paper_number ? c.claim.paper_number : paper_number(c.claim.reference);
  std::vector<Comparison> all;
  for (const Point& p : c.curve.points) {
    if (at && p.x != *at) continue;
    if (!of.empty()) {
      const Point* target = metric.at(p.x);
      if (target && !target->values.empty()) all.push_back({p, target, target->mean});
      continue;
    }
    for (const auto& [x, number] : column)
      if (x == p.x) all.push_back({p, nullptr, number});
    if (column.empty() && (value || paper)) all.push_back({p, nullptr, value ? *value : *paper});
  }
  return all;
}

Hypothesis WithinPercent::hypothesis(const Case& c) const {
  const Curve metric = targets(c);
  std::vector<Hypothesis> sides;
  for (const Comparison& one : comparisons(c, metric)) {
    for (const double side : {1.0, -1.0}) {  // value · sign(target) against |target| (1 ± share)
      const double limit = 1 + side * percent / 100, sign = one.target < 0 ? -1 : 1;
      const Estimate number =
          one.metric ? c.combine({{&one.point, sign}, {one.metric, -sign * limit}}) : c.combine({{&one.point, sign}});
      const double threshold = one.metric ? 0 : sign * one.target * limit;
      sides.push_back(side > 0 ? Hypothesis::at_most(number, threshold) : Hypothesis::at_least(number, threshold));
    }
  }
  return Hypothesis::all_of(std::move(sides));
}

std::optional<Hypothesis> WithinPercent::judge(const Case& c, Verdict& verdict) const {
  const Curve metric = targets(c);
  const std::vector<Comparison> all = comparisons(c, metric);
  if (all.empty()) {
    not_run(verdict, "there is no number to compare with");
    return std::nullopt;
  }
  const auto off = [](const Comparison& one) {
    const double distance = one.point.mean - one.target;
    return one.target == 0 ? (distance == 0 ? 0 : INFINITY) : 100 * distance / std::abs(one.target);
  };
  const Comparison& worst = *std::max_element(all.begin(), all.end(), [&](const Comparison& a, const Comparison& b) {
    return std::abs(off(a)) < std::abs(off(b));
  });
  if (of.empty() && !paper_points(c.claim.reference).empty()) {
    for (const Comparison& one : all) {
      PaperPath path = c.claim.reference;
      path.push_back(exact(one.point.x));
      verdict.beside.emplace_back(path, one.point.mean);
    }
  }
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"percent", off(worst)},
                     {"worst_x", worst.point.x},
                     {"points", static_cast<double>(all.size())},
                     {"seeds", says.seeds().value_or(1)}};
  const Estimate difference =
      worst.metric ? c.combine({{&worst.point, 1}, {worst.metric, -1}}) : c.combine({{&worst.point, 1}});
  verdict.intervals = {c.interval(worst.metric ? "difference" : "value", difference, all.size())};
  verdict.measured = off(worst);
  verdict.summary = signed_percent(off(worst));
  verdict.found = fmt::format("the farthest of {} points is {} off ({}: {} against {})", all.size(), verdict.summary,
                              c.at(worst.point), rounded(worst.point.mean), rounded(worst.target));
  verdict.claimed = fmt::format("at most {} %", exact(percent));
  return says;
}

}  // namespace headroom::experiments
