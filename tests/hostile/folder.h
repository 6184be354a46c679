#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/hostile/case.h"

namespace headroom::hostile {

/// Makes a case's files in `folder`.
void make_files(const std::vector<FileSpec>& files, const std::filesystem::path& folder);
/// Changes bytes of files that are there: (file, edit).
void edit_files(const std::vector<std::pair<std::string, std::string>>& edits, const std::filesystem::path& folder);

/// Path below a folder → what is there, as text that changes when the file does.
using Listing = std::map<std::string, std::string>;
Listing listing_of(const std::filesystem::path& folder);
/// Paths that were made, changed or removed.
std::vector<std::string> differences(const Listing& before, const Listing& after);

}  // namespace headroom::hostile
