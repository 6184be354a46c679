#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// The verdicts on runs of other programs as one self-contained page: the answer, a figure of the arms, every claim,
/// the arms in numbers, all runs, what was left out and why, and the claims file. `notes`: lines about the runs;
/// `command` gives the same verdicts again.
std::string judge_page(const Analysis& results, const std::vector<std::string>& notes, const std::string& command);

}  // namespace headroom::experiments
