#pragma once
#include <filesystem>

namespace headroom::models {

/// rename(2) without replacing: if two commands write one name at once, only one succeeds. A folder may replace an
/// empty one. Returns 0, or -1 with errno: EEXIST if `to` exists.
int rename_new(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace headroom::models
