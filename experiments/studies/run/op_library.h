#pragma once
#include <map>
#include <string>

#include "experiments/studies/config/trial_config.h"

namespace headroom::experiments {

/// Loads the library of a trial whose activation is an op of one. Throws Error as models::library_ops() does, with the
/// ops there are and the nearest name when it has none of that name, and when the trial does not run on the CPU.
void check_op_library(const TrialConfig& config);

/// SHA-256 by file of all that a trial's numbers depend on beside its config: `of_task`, and the library of its
/// activation. That one is read once per process, as it is loaded once.
std::map<std::string, std::string> data_hashes(const TrialConfig& config, std::map<std::string, std::string> of_task);

}  // namespace headroom::experiments
