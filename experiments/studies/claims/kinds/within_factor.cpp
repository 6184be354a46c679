#include "experiments/studies/claims/kinds/within_factor.h"

#include <fmt/format.h>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"
#include "experiments/studies/claims/claim_scope.h"

namespace headroom::experiments {

void WithinFactor::read(Reader& in, const ClaimScope& scope) {
  at = read_at(in, scope);
  factor = read_factor(in, factor);
  scope.check_count(in, 2, "a comparison with the best");
}

std::optional<MissingKey> WithinFactor::missing(const ClaimConfig&) const {
  if (!at) return MissingKey{"at", "the x to be judged"};
  return std::nullopt;
}

std::string WithinFactor::details() const { return at ? fmt::format(" {} ≤ {}×", exact(*at), exact(factor)) : ""; }

Hypothesis WithinFactor::hypothesis(const Case& c) const {
  std::vector<Hypothesis> near;
  for (const Point* rival : c.points({*at})) near.push_back(c.not_worse(*c.curve.at(*at), *rival, factor));
  return Hypothesis::all_of(std::move(near));
}

const Point* WithinFactor::open_rival(const Case& c, const Point& point, const Point& best) const {
  const auto p = [&](const Point& rival) { return c.not_worse(point, rival, factor).evidence().p; };
  const Point* worst = &best;
  for (const Point* rival : c.points({point.x}))
    if (p(*rival) > p(*worst)) worst = rival;
  const double level = c.claim.significance * c.results.level;
  return p(best) <= level && p(*worst) > level ? worst : nullptr;
}

std::optional<Hypothesis> WithinFactor::judge(const Case& c, Verdict& verdict) const {
  const Point& point = *c.curve.at(*at);
  Hypothesis says = hypothesis(c);
  const auto other = compare_with_others(c, point, says, verdict);
  if (!other) return std::nullopt;
  std::string open;
  if (const Point* rival = open_rival(c, point, other->point)) {
    const ConfidenceInterval ratio = c.ratio("ratio_to_open_x", point, *rival, c.points({point.x}).size());
    verdict.intervals.push_back(ratio);
    verdict.summary += fmt::format(", {} of {}", in_brackets(ratio), exact(rival->x));
    open = fmt::format(", and {} that at {}, which leaves it open", in_brackets(ratio), c.at(*rival));
  }
  verdict.found = fmt::format("at {} the {} is {} that at {}, the best of the others{}", c.at(point), c.noun(),
                              in_brackets(other->ratio), c.at(other->point), open);
  verdict.claimed = fmt::format("at most {} times as bad as any other", exact(factor));
  return says;
}

}  // namespace headroom::experiments
