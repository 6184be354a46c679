#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The best x is one of `among`; a tie counts for the claim.
struct ArgminIn : KindBase {
  static constexpr const char* name = "argmin_in";
  std::vector<double> among;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
