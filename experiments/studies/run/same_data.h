#pragma once
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/work_pool.h"

namespace headroom::experiments {

/// Trials are known by their config, which names files but not their bytes. Throws Error, with the file and both
/// hashes, when a finished trial of the study was trained on a file of the same name with other bytes than the present
/// one: its numbers and those of trials still to come would be means over two data sets. What is not found any more is
/// no contradiction.
void check_same_data(const Study& study, const std::unordered_map<std::string, RunStore::Known>& known, WorkPool& pool);

}  // namespace headroom::experiments
