#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// The first step of x gains something, and the gain per doubling of x between the last two points is at most
/// `fraction` of that between the first two: a test of (last gain − fraction · first gain), which divides by nothing.
/// The interval of their ratio is Fieller's (1954). Gains are of the metric itself, not of its logarithm.
struct Saturates : KindBase {
  static constexpr const char* name = "saturates";
  double fraction = 0.1;

  void read(Reader& in, const ClaimScope& scope);
  static std::vector<std::string> numbers() { return {"share", "first_gain", "last_gain", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
