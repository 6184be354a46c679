#pragma once
#include <string>

#include "experiments/studies/claims/claims.h"

namespace headroom::experiments {

/// The results as they would be if no x had the value of its `best_of` keys (a learning rate) that validation prefers:
/// then each takes the second best. An x that tried one value keeps it.
StudyResults without_first_choices(const StudyResults& results);

/// In a sentence, how many decided verdicts keep their side of the threshold with the second-best values, and which
/// claims do not; "" where no verdict depends on them. `verdicts` are those of `results`. A claim that is undecided
/// with the second-best values, which often have fewer seeds, counts by its estimate.
std::string second_choices(const StudyResults& results, const std::vector<Verdict>& verdicts);

}  // namespace headroom::experiments
