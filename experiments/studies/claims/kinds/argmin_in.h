#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// Every other x is at least `factor` times as bad as one of `among`: all rivals, each by its own test, so that nothing
/// depends on which of them looks best. A computed tie counts for the claim.
struct ArgminIn : KindBase {
  static constexpr const char* name = "argmin_in";
  static constexpr bool compares = true;
  std::vector<double> among;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"argmin", "claimed_x", "rival_x", "ratio", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
