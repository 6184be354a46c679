#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

/// Reads every run in some files and folders, whose formats their names and first bytes tell. Of a damaged file, or one
/// that grows, what is whole counts; problems name the rest. Throws Error for a path that does not exist.
ForeignRuns read_runs(const std::vector<std::string>& paths, const RunRoles& roles);

/// Settings that a path states: "optimizer=adamw,lr=1e-3/seed=1" names three; the folder alone is "folder".
std::map<std::string, std::string> settings_in(const std::filesystem::path& path);

}  // namespace headroom::experiments
