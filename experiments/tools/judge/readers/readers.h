#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

/// Reads every run in some files and folders, whose formats their names and first bytes tell. Of a damaged file, or one
/// that grows, what is whole counts; problems name the rest. Throws Error for a path that does not exist.
ForeignRuns read_runs(const std::vector<std::string>& paths, const RunRoles& roles);

}  // namespace headroom::experiments
