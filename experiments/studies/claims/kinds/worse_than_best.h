#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// The error at `at` is at least `factor` times that of some other x: any of the k others will do, so the smallest of
/// their p counts k times.
struct WorseThanBest : KindBase {
  static constexpr const char* name = "worse_than_best";
  static constexpr bool compares = true;
  std::optional<double> at;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  static std::vector<std::string> numbers() { return {"ratio", "best_x", "seeds"}; }
  std::optional<double> least_effect() const { return factor; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
