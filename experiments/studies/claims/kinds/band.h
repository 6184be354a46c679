#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// At every x the mean lies within `limits`: a test of each mean against each limit. Where values are computed or
/// counted, every seed's value does.
struct Band : KindBase {
  static constexpr const char* name = "band";
  Limits limits;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"least", "least_x", "most", "most_x", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
