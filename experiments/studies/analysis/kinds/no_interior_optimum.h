#pragma once
#include "experiments/studies/analysis/kinds/interior_optimum.h"

namespace headroom::experiments {

/// The opposite of interior_optimum with the same keys: an end is less than `factor` times as bad as any x between
/// them. A test of equivalence, and of the two claims at most one can pass.
struct NoInteriorOptimum : InteriorOptimum {
  NoInteriorOptimum() : InteriorOptimum("no_interior_optimum", Effect::at_most) {
    required = {{"factor", "a factor above 1: how much worse an end may be"}};
  }

  std::string details(const ClaimKeys& keys) const override { return list_of(keys.among) + sized("<", keys.factor); }

  std::optional<Hypothesis> hypothesis(const Case& c) const override {
    return Hypothesis::opposite_of(*InteriorOptimum::hypothesis(c));
  }
};

}  // namespace headroom::experiments
