#pragma once
#include <filesystem>

namespace headroom::models {

/// rename(2) that replaces nothing: of two commands that give one name at once, one gets it. A folder may take the
/// place of an empty one. Returns 0, or -1 with errno: EEXIST where `to` is there.
int rename_new(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace headroom::models
