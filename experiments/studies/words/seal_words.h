#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// When the claims were sealed, and a line for each change since; empty if they were not.
std::vector<std::string> seal_lines(const StudyResults& results);

}  // namespace headroom::experiments
