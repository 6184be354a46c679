#include "models/files/entries_of.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>

#include "engine/error.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// The entries whose extension that is, or all where it is "". Returns the error's number, 0 when all was read.
int read_entries(const fs::path& folder, std::string_view extension, std::vector<fs::path>& entries) {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(opendir(folder.c_str()), closedir);
  if (list == nullptr) return errno;
  errno = 0;
  while (const dirent* entry = readdir(list.get())) {
    const std::string_view name = entry->d_name;
    const bool is_wanted = extension.empty() || (name.size() > extension.size() && name.ends_with(extension));
    if (is_wanted && name != "." && name != "..") entries.push_back(folder / name);
    errno = 0;
  }
  const int error = errno;
  std::sort(entries.begin(), entries.end());
  return error;
}

}  // namespace

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  const int error = read_entries(folder, "", entries);
  require(error == 0, "{}: cannot be read: {}", folder.string(), std::strerror(error));
  return entries;
}

std::vector<fs::path> entries_if_any(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> entries;
  read_entries(folder, extension, entries);
  return entries;
}

std::vector<fs::path> visible_folders(const fs::path& folder) {
  std::vector<fs::path> entries = entries_if_any(folder);
  std::erase_if(entries, [](const fs::path& path) {
    std::error_code none;
    return path.filename().string().starts_with(".") || !fs::is_directory(path, none);
  });
  return entries;
}

}  // namespace headroom::models
