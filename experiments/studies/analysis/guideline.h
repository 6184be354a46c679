#pragma once
#include <optional>

#include "experiments/studies/analysis/curve.h"

namespace headroom::experiments {

/// Where the paper's practical guideline ends on a curve, to start with few heads and to search locally: begin at the
/// smallest x and go to the next as long as the mean on validation gets better; by that of the test data where not
/// every point has one. An x without a finished trial ends the search, as its model diverged for whoever tries it.
/// Nothing for fewer than three points, a first x that failed, or values not above 0.
std::optional<double> search_upward(const Curve& curve);

}  // namespace headroom::experiments
