#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The error at `at` is significantly worse than the best other one, and at least `factor` times.
struct WorseThanBest : KindBase {
  static constexpr const char* name = "worse_than_best";
  std::optional<double> at;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  bool takes_ratios() const { return factor > 1; }
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
