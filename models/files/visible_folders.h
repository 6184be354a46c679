#pragma once
#include <filesystem>
#include <vector>

namespace headroom::models {

/// The non-hidden folders in a folder, by name; hidden ones are being written or deleted. None if it cannot be read.
std::vector<std::filesystem::path> visible_folders(const std::filesystem::path& folder);

}  // namespace headroom::models
