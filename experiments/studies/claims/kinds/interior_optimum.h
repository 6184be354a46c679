#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

/// Each end is at least `factor` times as bad as some x between them (of `among`, where that is given). For each end
/// any of the k candidates will do: the smallest of their p times k; and both ends must be worse: the larger of the
/// two. So the level holds whichever x the data prefer.
struct InteriorOptimum : KindBase {
  static constexpr const char* name = "interior_optimum";
  static constexpr bool compares = true;
  double factor = 1;
  std::vector<double> among;

  void read(Reader& in, const ClaimScope& scope);
  std::string details() const;
  static std::vector<std::string> numbers() { return {"best_x", "ratio_low", "ratio_high", "seeds"}; }
  std::optional<double> least_effect() const { return factor; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;

 protected:
  /// The two ratios and the sentence that ends with "… was claimed"; returns the hypothesis that there is an interior
  /// optimum. None, and a verdict that is not run, where no x lies between the ends.
  std::optional<Hypothesis> measure(const Case& c, Verdict& verdict, const std::string& claimed) const;
};

}  // namespace headroom::experiments
