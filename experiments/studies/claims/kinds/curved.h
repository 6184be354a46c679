#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// At some x between the ends the mean is at least `percent` % above or below the straight line, over a linear axis,
/// from the first to the last: any of them will do. Its opposite is a cost that is affine in x.
struct Curved : KindBase {
  static constexpr const char* name = "curved";
  double percent = 0;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"percent", "worst_x", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
