#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::models {

/// Paths of everything in a folder, in alphabetical order. Throws Error if the folder cannot be read.
/// std::filesystem's iterators end the program where memory runs out: they allocate in functions that may not throw.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// The entries with this extension (".toml"); all where it is "". None if the folder cannot be read.
std::vector<std::filesystem::path> entries_if_any(const std::filesystem::path& folder,
                                                  const std::string& extension = "");

/// The non-hidden folders in a folder; hidden ones are being written or deleted. None if it cannot be read.
std::vector<std::filesystem::path> visible_folders(const std::filesystem::path& folder);

}  // namespace headroom::models
