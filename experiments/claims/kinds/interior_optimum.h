#pragma once
#include "experiments/claims/kinds/kind.h"

namespace headroom::experiments {

/// Both ends are worse than the best x between them, significantly and at least `factor` times. Both must be, so the
/// two tests need no correction; the best x is picked on the same data it is tested on, as in the paper.
struct InteriorOptimum : KindBase {
  static constexpr const char* name = "interior_optimum";
  double factor = 1;

  void read(Reader& in, const ClaimScope& scope);
  bool takes_ratios() const { return factor > 1; }
  void judge(const Case& c, Verdict& verdict) const;
};

}  // namespace headroom::experiments
