#pragma once
#include "experiments/output/document.h"
#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// What validation said of every value of a key, to be opened: a row per series and x, a column per value, the chosen
/// one bold; means over the seeds that were trained at all values of a row. A reader sees how much hangs on one step of
/// a grid. Nothing where no series chose between values of a single key.
Blocks tried_choices(const Analysis& results);

}  // namespace headroom::experiments
