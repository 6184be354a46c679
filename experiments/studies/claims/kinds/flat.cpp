#include "experiments/studies/claims/kinds/flat.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"

namespace headroom::experiments {

void Flat::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  scope.check_count(in, 2, "a flat curve");
}

std::optional<MissingKey> Flat::missing(const ClaimConfig&) const {
  if (!(factor > 1)) return MissingKey{"factor", "a factor above 1: how far apart values may be"};
  return std::nullopt;
}

std::string Flat::details() const { return " ≤ " + exact(factor) + "×"; }

Hypothesis Flat::hypothesis(const Case& c) const {
  if (c.claim.deterministic) {
    double smallest = INFINITY, largest = -INFINITY;
    for (const Point& p : c.curve.points)
      for (const auto& entry : p.values) {
        smallest = std::min(smallest, entry.second);
        largest = std::max(largest, entry.second);
      }
    return Hypothesis::at_least(Estimate::computed(factor * smallest - largest), 0);
  }
  std::vector<Hypothesis> pairs;
  for (const Point& a : c.curve.points)
    for (const Point& b : c.curve.points)
      if (a.x != b.x) pairs.push_back(c.at_most(a, b, factor));
  return Hypothesis::all_of(std::move(pairs));
}

std::optional<Hypothesis> Flat::judge(const Case& c, Verdict& verdict) const {
  const auto& points = c.curve.points;
  if (points.size() < 2) {
    not_run(verdict, fmt::format("a flat curve needs 2 values of {}", c.axis));
    return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [&](const Point& a, const Point& b) { return c.value(a) < c.value(b); });
  const ConfidenceInterval ratio = c.ratio("ratio", *most, *least, points.size() * (points.size() - 1));
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"smallest_x", least->x},
                     {"largest_x", most->x},
                     {"ratio", c.value(*most) / c.value(*least)},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {ratio};
  verdict.measured = c.value(*most) / c.value(*least);
  verdict.summary = in_brackets(ratio);
  verdict.found =
      fmt::format("the largest {}, {} at {}, is {} the smallest, {} at {}", c.curve.metric, rounded(c.value(*most)),
                  c.at(*most), in_brackets(ratio), rounded(c.value(*least)), c.at(*least));
  verdict.claimed = fmt::format("at most {} times", exact(factor));
  return says;
}

}  // namespace headroom::experiments
