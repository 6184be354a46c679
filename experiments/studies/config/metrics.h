#pragma once
#include <set>
#include <string>

#include "experiments/studies/config/trial_config.h"

namespace headroom::experiments {

/// Names of all numbers that a trial of this config may have for a claim or a figure: its task's metrics, times if it
/// is timed, and for every trial parameters, flops, seconds.
std::set<std::string> metric_names(const TrialConfig& config);

}  // namespace headroom::experiments
