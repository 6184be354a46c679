#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

struct Point;

/// The error at `at` is at most `factor` times that of every other x: a test of equivalence against each of them. With
/// the same factor it is the opposite of worse_than_best.
struct WithinFactor : KindBase {
  static constexpr const char* name = "within_factor";
  static constexpr bool compares = true;
  std::optional<double> at;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const;
  std::optional<double> required_x() const { return at; }
  static std::vector<std::string> numbers() { return {"ratio", "best_x", "seeds"}; }
  std::optional<double> most_effect() const { return factor; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;

 private:
  /// Where the comparison with the best other x passes by itself, the x with which it is farthest from passing; nullptr
  /// where every comparison passes, or already the best other's does not.
  const Point* open_rival(const Case& c, const Point& point, const Point& best) const;
};

}  // namespace headroom::experiments
