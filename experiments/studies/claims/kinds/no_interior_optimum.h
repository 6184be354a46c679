#pragma once
#include "experiments/studies/claims/kinds/interior_optimum.h"

namespace headroom::experiments {

/// The opposite of interior_optimum with the same keys: an end is less than `factor` times as bad as any x between
/// them. A test of equivalence, and of the two claims at most one can pass.
struct NoInteriorOptimum : InteriorOptimum {
  static constexpr const char* name = "no_interior_optimum";

  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> least_effect() const { return std::nullopt; }
  std::optional<double> most_effect() const { return factor; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
