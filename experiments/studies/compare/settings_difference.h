#pragma once
#include <vector>

#include "experiments/studies/compare/comparison.h"
#include "experiments/studies/results.h"

namespace headroom::experiments {

/// The keys of the trials' configs whose values are not the same in two runs, then the versions of the program and the
/// data files, in the order of the alphabet. What a sweep varies alike in both is no difference.
std::vector<SettingDifference> settings_that_differ(const std::vector<TrialRecord>& a,
                                                    const std::vector<TrialRecord>& b);

}  // namespace headroom::experiments
