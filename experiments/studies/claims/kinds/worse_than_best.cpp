#include "experiments/studies/claims/kinds/worse_than_best.h"

#include <fmt/format.h>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"

namespace headroom::experiments {

void WorseThanBest::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
  scope.check_count(in, 2, "a comparison with the best");
}

std::optional<MissingKey> WorseThanBest::missing(const ClaimConfig&) const {
  if (!at) return MissingKey{"at", "the x to be judged"};
  return std::nullopt;
}

std::string WorseThanBest::details() const {
  return (at ? " at " + exact(*at) : "") + (factor > 1 ? " ≥ " + exact(factor) + "×" : "");
}

Hypothesis WorseThanBest::hypothesis(const Case& c) const {
  std::vector<Hypothesis> worse;
  for (const Point* other : c.points({*at})) worse.push_back(c.worse(*c.curve.at(*at), *other, factor));
  return Hypothesis::any_of(std::move(worse));
}

std::optional<Hypothesis> WorseThanBest::judge(const Case& c, Verdict& verdict) const {
  const Point& point = *c.curve.at(*at);
  Hypothesis says = hypothesis(c);
  const auto other = compare_with_others(c, point, says, verdict);
  if (!other) return std::nullopt;
  verdict.found = fmt::format("at {} the {} is {} that at {}, the best of the others", c.at(point), c.noun(),
                              in_brackets(other->ratio), c.at(other->point));
  verdict.claimed = factor > 1 ? fmt::format("at least {} times as bad", exact(factor)) : "worse";
  return says;
}

}  // namespace headroom::experiments
