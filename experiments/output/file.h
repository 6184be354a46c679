#pragma once
#include <filesystem>
#include <string>

namespace headroom::experiments {

/// Writes `text` to `path` so that the file appears whole or not at all: under a temporary name in its folder, then a
/// rename. Throws Error naming the path and the system's reason.
void write_file(const std::filesystem::path& path, const std::string& text);

/// Throws Error, as write_file() would, if `path` cannot be written: for commands that write it after long work. Leaves
/// nothing behind. `makes_folders`: missing folders above it are allowed, and made later.
void check_file(const std::filesystem::path& path, bool makes_folders = false);

/// Makes the folder and those above it. Throws Error naming it.
void make_folder(const std::filesystem::path& folder);

}  // namespace headroom::experiments
