#include "experiments/claims/kinds/within_percent.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void WithinPercent::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  percent = in.real("percent", percent, at_least(0), "how far from the target at most");
  of = in.text("of", "", "the target, a metric of the same trials");
  value = in.optional_real("value", {}, "the target, a number; without either: the paper's");
  scope.check_metric(in, "of", of);
  if (of == scope.metric() && !of.empty()) in.complain("of", "is the metric that the claim is about");
  if (!of.empty() && value) in.complain("value", "wants either of or value");
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

void WithinPercent::judge(const Case& c, Verdict& verdict) const {
  Curve targets;
  if (!of.empty()) targets = curve_in_range(c.results, c.curve.series, of, c.claim);
  const auto column = of.empty() ? paper_points(c.claim.reference) : std::vector<std::pair<double, double>>{};
  const auto target_at = [&](double x) -> std::optional<double> {
    if (!of.empty()) {
      const Point* p = targets.at(x);
      return p && !p->values.empty() ? std::optional(c.value(*p)) : std::nullopt;
    }
    for (const auto& [paper_x, number] : column)
      if (paper_x == x) return number;
    return column.empty() ? (value ? value : verdict.paper) : std::nullopt;
  };
  double worst = 0;
  size_t compared = 0, seeds = SIZE_MAX;
  std::string where;
  for (const Point& p : c.curve.points) {
    if (at && p.x != *at) continue;
    const std::optional<double> target = target_at(p.x);
    if (!target) continue;
    const double off =
        *target == 0 ? (c.value(p) == 0 ? 0 : INFINITY) : 100 * (c.value(p) - *target) / std::abs(*target);
    ++compared;
    seeds = std::min(seeds, p.values.size());
    if (!column.empty()) {
      PaperPath path = c.claim.reference;
      path.push_back(exact(p.x));
      verdict.beside.emplace_back(path, c.value(p));
    }
    if (where.empty() || std::abs(off) > std::abs(worst)) {
      worst = off;
      where = fmt::format("{}: {} against {}", c.at(p), rounded(c.value(p)), rounded(*target));
    }
  }
  if (compared == 0) return not_run(verdict, "there is no number to compare with");
  verdict.numbers = {
      {"percent", worst}, {"points", static_cast<double>(compared)}, {"seeds", static_cast<double>(seeds)}};
  verdict.measured = worst;
  verdict.summary = fmt::format("{:+.2f} %", worst);
  verdict.sentence = fmt::format("At the farthest of {} points it is {:+.2f} % away ({}); at most {} % was claimed.",
                                 compared, worst, where, exact(percent));
  verdict.status = std::abs(worst) <= percent ? VerdictStatus::pass : VerdictStatus::fail;
  if (verdict.status == VerdictStatus::pass && seeds < c.wanted_seeds()) too_few_seeds(c, verdict, seeds);
}

}  // namespace headroom::experiments
