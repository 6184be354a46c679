#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

struct Point;

/// The least-squares slope over the x, on `axes`, lies within `limits`. Each seed gives a slope of its own, from all x;
/// their mean is tested against both limits, so that what the seeds of one x have in common is counted once, and a
/// curve that is no line gives the slope of its best line.
struct Slope : KindBase {
  static constexpr const char* name = "slope";
  std::string axes = "log-log";  ///< log-log | semi-log (a logarithm of x alone) | linear
  Limits limits;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"slope", "points", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;

 private:
  Estimate estimate(const Case& c) const;
};

}  // namespace headroom::experiments
