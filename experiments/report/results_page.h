#pragma once
#include <string>
#include <vector>

#include "experiments/claims/study_results.h"

namespace headroom::experiments {

/// The findings of many studies as one Markdown page (docs/results.md): an overview, each study's curves and claims
/// with their numbers, what failed and why, and whether the paper's guideline, to start with few heads and to search
/// upward, reaches the best within 10 %. The same results give the same bytes, in any order.
std::string results_markdown(const std::vector<StudyResults>& studies);

/// Text that Markdown shows as it is, on one line.
std::string markdown(const std::string& text);

}  // namespace headroom::experiments
