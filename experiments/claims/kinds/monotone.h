#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// From x to x the error goes in `direction` or is tied (against it by at most the share `tolerance`, or not
/// significantly), and the last x differs from the first in that direction, significantly and at least `factor` times.
struct Monotone : KindBase {
  static constexpr const char* name = "monotone";
  std::string direction;  ///< falling | rising
  double tolerance = 0;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  bool takes_ratios() const { return factor > 1; }
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
