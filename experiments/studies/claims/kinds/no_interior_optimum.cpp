#include "experiments/studies/claims/kinds/no_interior_optimum.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"

namespace headroom::experiments {

std::optional<MissingKey> NoInteriorOptimum::missing(const ClaimConfig&) const {
  if (!(factor > 1)) return MissingKey{"factor", "a factor above 1: how much worse an end may be"};
  return std::nullopt;
}

std::string NoInteriorOptimum::details() const { return list_of(among) + " < " + exact(factor) + "×"; }

Hypothesis NoInteriorOptimum::hypothesis(const Case& c) const {
  return Hypothesis::opposite_of(InteriorOptimum::hypothesis(c));
}

std::optional<Hypothesis> NoInteriorOptimum::judge(const Case& c, Verdict& verdict) const {
  const std::string claimed = fmt::format("less than {} times as bad at one end", exact(factor));
  std::optional<Hypothesis> interior = measure(c, verdict, claimed);
  if (!interior) return std::nullopt;
  return Hypothesis::opposite_of(std::move(*interior));
}

}  // namespace headroom::experiments
