#pragma once
#include <string>
#include <vector>

#include "experiments/studies/config/study.h"

namespace headroom::experiments {

/// Lists a profile's changes from the study's own keys, a line per key: "task.length 32 (256)", with the study's values
/// in brackets. Leaves out seeds, choices of `best_of`, the frequency of evaluations, and effects of the number of
/// heads. "no x" is a key that the other trials lack.
std::vector<std::string> profile_changes(const Study& profile, const Study& base);

}  // namespace headroom::experiments
