#pragma once
#include <filesystem>

#include "experiments/studies/run/runner.h"

namespace headroom::experiments {

/// Watchers that also notify those of `inner`, if given. They check the run once, as soon as all trials at one x of a
/// series have ended, and warn if no model has learned the task by then (nothing_learned()): worth knowing long before
/// the end.
WatchTrial with_learning_watch(const Study& study, const std::filesystem::path& out, WatchTrial inner);

}  // namespace headroom::experiments
