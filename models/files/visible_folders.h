#pragma once
#include <filesystem>
#include <vector>

namespace headroom::models {

/// The folders in a folder, by name, without hidden ones: those hold what is being written or deleted. None where it
/// cannot be read.
std::vector<std::filesystem::path> visible_folders(const std::filesystem::path& folder);

}  // namespace headroom::models
