#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// No value is more than `factor` times another: a test of equivalence for each pair of x, in both directions. Where
/// values are computed, every seed's value is compared.
struct Flat : KindBase {
  static constexpr const char* name = "flat";
  static constexpr bool compares = true;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"smallest_x", "largest_x", "ratio", "seeds"}; }
  std::optional<double> most_effect() const { return factor; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
