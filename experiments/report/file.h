#pragma once
#include <filesystem>
#include <string>

namespace headroom::experiments {

/// Writes `text` to `path` so that the file appears whole or not at all: a temporary name beside it, then a rename.
/// Throws Error naming the path and the system's reason.
void write_file(const std::filesystem::path& path, const std::string& text);

/// Makes the folder and those above it. Throws Error naming it.
void make_folder(const std::filesystem::path& folder);

}  // namespace headroom::experiments
