#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

/// The name of runs with changed keys, and of their folder: "quick+train.steps=10" for profile quick under `--set
/// train.steps=10`; the profile itself without settings. Only letters, digits and ._=,+-, and at most 61 characters
/// more than the profile; a checksum replaces settings that do not fit. Profile names have no +, so the folder is never
/// a profile's.
std::string run_name(const std::string& profile, const std::vector<std::string>& overrides);

/// True if a text can be such a name, and so a folder's.
bool is_run_name(const std::string& name);

}  // namespace headroom::experiments
