#include "experiments/claims/kinds/no_interior_optimum.h"

#include <fmt/format.h>

#include "experiments/claims/case.h"
#include "experiments/claims/number.h"

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
  if (!InteriorOptimum::judge(c, verdict)) return std::nullopt;
  const size_t claimed = verdict.sentence.rfind("; at least");
  verdict.sentence = verdict.sentence.substr(0, claimed) +
                     fmt::format("; that an end is less than {} times as bad was claimed.", exact(factor));
  return hypothesis(c);
}

}  // namespace headroom::experiments
