#pragma once
#include "experiments/output/document.h"
#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// What validation said of every value of a key that `best_of` swept, to be opened: a row per series and x, a column
/// per value, the chosen one bold; means over the seeds that were trained at all values of a row. A reader sees how
/// much hangs on one step of a grid. Nothing where no series chose between values of a single key.
Blocks tried_choices(const StudyResults& results);

}  // namespace headroom::experiments
