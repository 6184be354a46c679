#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// |value / target − 1| ≤ percent / 100 at `at`, or without it at every x. The target is the metric `of`, the number
/// `value`, or the paper's: one number, or a column of numbers by x.
struct WithinPercent : KindBase {
  static constexpr const char* name = "within_percent";
  std::optional<double> at;
  double percent = 0;
  std::string of;               ///< a metric of the same trials
  std::optional<double> value;  ///< a number

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
