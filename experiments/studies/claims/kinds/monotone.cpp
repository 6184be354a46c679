#include "experiments/studies/claims/kinds/monotone.h"

#include <fmt/format.h>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

void Monotone::read(Reader& in, const ClaimScope& scope) {
  factor = read_factor(in, factor);
  direction = in.word("direction", {"", "none: required"}, {"falling", "rising"}, "of the values as x grows");
  scope.check_count(in, 2, "a trend");
  tolerance = in.real("tolerance", tolerance, fraction, "a step against the direction by this share is a tie");
}

std::optional<MissingKey> Monotone::missing(const ClaimConfig&) const {
  if (direction.empty()) return MissingKey{"direction", "falling or rising"};
  return std::nullopt;
}

std::string Monotone::details() const { return " " + direction; }

Hypothesis Monotone::hypothesis(const Case& c) const {
  const auto& points = c.curve.points;
  const bool falling = direction == "falling";
  std::vector<Hypothesis> parts;
  for (size_t i = 1; i < points.size(); ++i)
    parts.push_back(falling ? c.at_most(points[i], points[i - 1], 1 + tolerance)
                            : c.at_most(points[i - 1], points[i], 1 + tolerance));
  parts.push_back(falling ? c.at_least(points.front(), points.back(), factor, factor == 1)
                          : c.at_least(points.back(), points.front(), factor, factor == 1));
  return Hypothesis::all_of(std::move(parts));
}

std::optional<Hypothesis> Monotone::judge(const Case& c, Verdict& verdict) const {
  const auto& points = c.curve.points;
  if (points.size() < 2) {
    not_run(verdict, fmt::format("a trend needs 2 values of {}", c.axis));
    return std::nullopt;
  }
  const bool falling = direction == "falling";
  const auto ratio_of = [&](const Point& a, const Point& b) { return c.value(a) / c.value(b); };
  size_t worst = 1;
  const auto against = [&](size_t i) {
    return falling ? ratio_of(points[i], points[i - 1]) : ratio_of(points[i - 1], points[i]);
  };
  for (size_t i = 2; i < points.size(); ++i)
    if (against(i) > against(worst)) worst = i;
  const Point &first = points.front(), &last = points.back();
  const ConfidenceInterval total = falling ? c.ratio("ratio", first, last) : c.ratio("ratio", last, first);
  const ConfidenceInterval step = falling ? c.ratio("worst_step", points[worst], points[worst - 1], points.size() - 1)
                                          : c.ratio("worst_step", points[worst - 1], points[worst], points.size() - 1);
  Hypothesis says = hypothesis(c);
  verdict.numbers = {{"first", c.value(first)},
                     {"last", c.value(last)},
                     {"ratio", falling ? ratio_of(first, last) : ratio_of(last, first)},
                     {"worst_x", points[worst].x},
                     {"worst_step", against(worst)},
                     {"seeds", says.seeds().value_or(1)}};
  verdict.intervals = {total, step};
  verdict.measured = verdict.numbers[2].second;
  verdict.summary = fmt::format("{} → {}, {}, step {}", rounded(c.value(first)), rounded(c.value(last)),
                                in_brackets(total), in_brackets(step));
  verdict.found = fmt::format(
      "from {} to {} the {} goes from {} to {}, by {} in the direction claimed; its worst step, from {} to {}, is {} "
      "against that direction",
      c.at(first), exact(last.x), c.curve.metric, rounded(c.value(first)), rounded(c.value(last)), in_brackets(total),
      exact(points[worst - 1].x), exact(points[worst].x), in_brackets(step));
  verdict.claimed =
      fmt::format("{} in all, and at most {}× against it in any step",
                  factor > 1 ? fmt::format("at least {}×", exact(factor)) : "any change", exact(1 + tolerance));
  return says;
}

}  // namespace headroom::experiments
