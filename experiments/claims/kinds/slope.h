#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The least-squares slope over all seeds and x, on `axes`: its confidence interval lies within `limits`. An interval
/// that sticks out around a slope inside is undecided.
struct Slope : KindBase {
  static constexpr const char* name = "slope";
  std::string axes = "log-log";  ///< log-log | semi-log (a logarithm of x alone) | linear
  Limits limits;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
