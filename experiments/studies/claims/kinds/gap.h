#pragma once
#include "experiments/studies/claims/kinds/kind.h"

namespace headroom::experiments {

struct Curve;

/// How many times the error of the series is that of another changes by `factor` at least from the first x to the last:
/// it gets less where the series "catches_up", more where it "falls_behind", on whichever side of 1 it is. One contrast
/// of four logarithms, paired over seeds.
struct Gap : KindBase {
  static constexpr const char* name = "gap";
  static constexpr bool compares = true;
  std::string rival, direction;
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  std::optional<MissingKey> missing(const ClaimConfig& claim) const;
  std::string details() const { return " " + direction + " " + rival; }
  std::string other_series() const { return rival; }
  static std::vector<std::string> numbers() { return {"ratio", "ratio_first", "ratio_last", "seeds"}; }
  Hypothesis hypothesis(const Case& c) const;
  std::optional<Hypothesis> judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
