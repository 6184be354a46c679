#pragma once
#include <string>
#include <vector>

namespace headroom::experiments {

/// The name of runs under changed keys, and of their folder: "quick+train.steps=10" for profile quick under
/// `--set train.steps=10`; the profile itself where nothing was set. Letters, digits and ._=,+- only, at most 61
/// characters more than the profile; settings that do not fit so are told apart by a checksum. No profile has a + in
/// its name, so no such folder is a profile's.
std::string run_name(const std::string& profile, const std::vector<std::string>& overrides);

/// Whether a text can be such a name, and so a folder's.
bool is_run_name(const std::string& name);

}  // namespace headroom::experiments
