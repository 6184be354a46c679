#include "experiments/studies/claims/kinds/interior_optimum.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// The points between the ends, of `among` where that is given.
std::vector<const Point*> candidates(const Case& c, const std::vector<double>& among) {
  std::vector<const Point*> inside;
  const auto& points = c.curve.points;
  for (size_t i = 1; i + 1 < points.size(); ++i)
    if (among.empty() || std::count(among.begin(), among.end(), points[i].x) > 0) inside.push_back(&points[i]);
  return inside;
}

}  // namespace

void InteriorOptimum::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  among = read_among(in, scope);
  scope.check_count(in, 3, "an interior optimum");
  const std::vector<double> x = scope.x();
  if (x.size() < 3) return;
  for (const double inside : among)
    if (inside == x.front() || inside == x.back())
      in.complain("among", fmt::format("{} = {} is an end of the claim's range", scope.x_name(), exact(inside)));
}

std::string InteriorOptimum::details() const {
  return list_of(among) + (factor > 1 ? " ≥ " + exact(factor) + "×" : "");
}

Hypothesis InteriorOptimum::hypothesis(const Case& c) const {
  const std::vector<const Point*> inside = candidates(c, among);
  std::vector<Hypothesis> ends;
  for (const Point* end : {&c.curve.points.front(), &c.curve.points.back()}) {
    std::vector<Hypothesis> worse;
    for (const Point* point : inside) worse.push_back(c.worse(*end, *point, factor));
    ends.push_back(Hypothesis::any_of(std::move(worse)));
  }
  return Hypothesis::all_of(std::move(ends));
}

std::optional<Hypothesis> InteriorOptimum::measure(const Case& c, Verdict& verdict, const std::string& claimed) const {
  const auto& points = c.curve.points;
  const std::vector<const Point*> inside = points.size() < 3 ? std::vector<const Point*>{} : candidates(c, among);
  if (inside.empty()) {
    not_run(verdict, fmt::format("an interior optimum needs a value of {} between two others", c.axis));
    return std::nullopt;
  }
  const Point &low = points.front(), &high = points.back(), &best = c.best(inside);
  const ConfidenceInterval at_low = c.ratio("ratio_low", low, best, inside.size());
  const ConfidenceInterval at_high = c.ratio("ratio_high", high, best, inside.size());
  Hypothesis says = InteriorOptimum::hypothesis(c);
  verdict.numbers = {{"best_x", best.x},
                     {"ratio_low", c.value(low) / c.value(best)},
                     {"ratio_high", c.value(high) / c.value(best)},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {at_low, at_high};
  verdict.measured = best.x;
  verdict.summary = fmt::format("{} / {}", in_brackets(at_low), in_brackets(at_high));
  const auto shown = [&](const ConfidenceInterval& ratio) {
    const bool larger = c.curve.larger_is_better, is_difference = !c.on_logs();
    const double least = larger ? 1 / ratio.high : ratio.low, most = larger ? 1 / ratio.low : ratio.high;
    return in_brackets(ratio) +
           (!is_difference && least > 1 && most < factor ? " (worse, but by less than counts)" : "");
  };
  verdict.found = fmt::format("at {} the {} is {} that at {}, the best between the ends, and at {} it is {}", c.at(low),
                              c.noun(), shown(at_low), c.at(best), c.at(high), shown(at_high));
  verdict.claimed = claimed;
  return says;
}

std::optional<Hypothesis> InteriorOptimum::judge(const Case& c, Verdict& verdict) const {
  const std::string claimed =
      factor > 1 ? fmt::format("at least {} times as bad at both ends", exact(factor)) : "worse at both ends";
  return measure(c, verdict, claimed);
}

}  // namespace headroom::experiments
