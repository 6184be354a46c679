#pragma once
#include <optional>
#include <vector>

#include "experiments/studies/analysis/curve.h"

namespace headroom::experiments {

/// The paper's practical guideline: start with few heads, then search locally. Read here as: begin at the smallest x
/// and go to the next as long as the mean on validation gets better.
struct UpwardSearch {
  std::vector<double> tried;  ///< the x that were measured on the way, the first that got worse included
  double found_x = 0;         ///< where it stopped
  double best_x = 0;          ///< where it should have stopped
  double times_worse = 1;     ///< the value found over the best one; where larger is better, the reverse
  bool reached = false;       ///< at most `percent` worse than the best
};

/// Searches a curve upward, by the means on validation where all points have one, by those of the test data otherwise.
/// An x without a finished trial ends the search, as its model diverged for whoever tries it. Nothing for a curve of
/// fewer than three points, whose first x failed, or with values that have no ratio (not above 0).
std::optional<UpwardSearch> search_upward(const Curve& curve, double percent = 10);

}  // namespace headroom::experiments
