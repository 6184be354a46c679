#pragma once
#include <string>
#include <vector>

#include "experiments/studies/config/study.h"

namespace headroom::experiments {

/// What is trained in a profile and not with the study's own keys, a line per key: "task.length 32 (256)", the study's
/// own values in brackets. Seeds, choices of `best_of`, how often is evaluated, and what follows from the number of
/// heads are left out; "no x" is a key that the other trials have not.
std::vector<std::string> profile_changes(const Study& profile, const Study& base);

}  // namespace headroom::experiments
