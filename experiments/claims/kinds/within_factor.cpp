#include "experiments/claims/kinds/within_factor.h"

#include <fmt/format.h>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"

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

std::optional<Hypothesis> WithinFactor::judge(const Case& c, Verdict& verdict) const {
  const Point& point = *c.curve.at(*at);
  Hypothesis says = hypothesis(c);
  const auto other = compare_with_others(c, point, says, verdict);
  if (!other) return std::nullopt;
  verdict.sentence =
      fmt::format("At {} the {} is {} that at {}, the best other; at most {} times as bad as any was claimed.",
                  c.at(point), c.noun(), in_brackets(other->ratio), c.at(other->point), exact(factor));
  return says;
}

}  // namespace headroom::experiments
