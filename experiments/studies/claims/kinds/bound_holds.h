#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// The metric is at most `bound` in every finished trial, chosen or not; the ratio of the two is the bound's tightness.
/// That is counted, of the trials that were run: no test, and nothing is said of others.
struct BoundHolds : KindBase {
  static constexpr const char* name = "bound_holds";
  std::string bound;  ///< a metric of the same trial, or "overlay"

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"trials", "violations", "tightness_max", "tightness_median"}; }
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
