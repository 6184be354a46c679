#pragma once
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

/// Where a plan's heads beat equal ones: for each "NAME: the plan" among the series, against the best on validation of
/// the series "NAME: equal …" at each x, with the interval of the ratio (Bonferroni over all comparisons of the study).
/// One sentence per NAME: at which x the plan is better, by how much at most, where it is worse and where it is open.
/// Empty for a study without such series or without two seeds at a common x.
std::vector<std::string> plan_answers(const StudyResults& results);

}  // namespace headroom::experiments
