#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The value is less than another's, significantly, and `factor` times it still is no more than that; without `at`, at
/// every x that both have.
struct LessThan : KindBase {
  static constexpr const char* name = "less_than";
  /// What it is compared with; what is not given is the claim's own.
  struct Other {
    std::string series, metric;
    std::optional<double> at;
  };
  std::optional<double> at;
  double factor = 1;
  Other than;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  std::string other_series() const { return than.series; }
  bool takes_ratios() const { return factor > 1; }
  void judge(const Case& c, Verdict& verdict) const;

 private:
  void check_pairs(Reader& in, const ClaimScope& scope) const;
};

}  // namespace headroom::experiments
