#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The error at `at` is at most `factor` times the best.
struct WithinFactor : KindBase {
  static constexpr const char* name = "within_factor";
  std::optional<double> at;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  bool takes_ratios() const { return true; }
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
