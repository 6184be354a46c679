#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

struct Curve;

/// |value / target − 1| ≤ percent / 100 at `at`, or without it at every x: a test of equivalence at each. The target is
/// the metric `of` of the same trials, the number `value`, or the paper's, one number or a column of numbers by x,
/// which count as exact.
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
  static std::vector<std::string> numbers() { return {"percent", "worst_x", "points", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;

 private:
  struct Comparison;
  /// The values and what they are compared with, at each x that has both; `metric`: the curve of `of`.
  std::vector<Comparison> comparisons(const Case& c, const Curve& metric) const;
  Curve targets(const Case& c) const;
};

}  // namespace headroom::experiments
