#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// From x to x the value goes in `direction`, or against it by at most the share `tolerance`: a test of equivalence for
/// each step, which a step that is merely not significant does not pass. And from the first x to the last it changes in
/// that direction by at least `factor` times.
struct Monotone : KindBase {
  static constexpr const char* name = "monotone";
  static constexpr bool compares = true;
  std::string direction;  ///< falling | rising
  double tolerance = 0;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  static std::vector<std::string> numbers() { return {"first", "last", "ratio", "worst_x", "worst_step", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
