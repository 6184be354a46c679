#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// The gain per doubling of x between the last two points is at most `fraction` of that between the first two; a
/// bootstrap interval over seeds must lie below. An interval that sticks out is undecided.
struct Saturates : KindBase {
  static constexpr const char* name = "saturates";
  double fraction = 0.1;

  void read(Reader& in, const ClaimScope& scope);
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
