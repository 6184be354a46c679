#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// Every seed's value lies within `limits`, and the largest is at most `factor` (when above 1) times the smallest.
struct Band : KindBase {
  static constexpr const char* name = "band";
  Limits limits;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
