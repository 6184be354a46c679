#pragma once
#include <utility>

#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

struct Curve;
struct Point;

/// The other's value is at least `factor` times this one, and more where that is 1; without `at`, at every x that both
/// have, each by its own test.
struct LessThan : KindBase {
  static constexpr const char* name = "less_than";
  static constexpr bool compares = true;
  /// What it is compared with; what is not given is the claim's own.
  struct Other {
    std::string series, metric;
    std::optional<double> at;
  };
  std::optional<double> at;
  double factor = 1;
  Other than;
  bool has_problem = false;  ///< of `than`, which was told

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  std::string other_series() const { return than.series; }
  std::string other_metric() const { return than.metric; }
  static std::vector<std::string> numbers() { return {"ratio", "worst_x", "pairs", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;

 private:
  Curve rivals(const Case& c) const;
  /// What is compared: a point, and that which it is to be less than.
  std::vector<std::pair<const Point*, const Point*>> pairs(const Case& c, const Curve& other) const;
  void check_pairs(Reader& in, const ClaimScope& scope) const;
};

}  // namespace headroom::experiments
