#include "models/files/visible_folders.h"

#include <algorithm>
#include <system_error>

namespace headroom::models {

std::vector<std::filesystem::path> visible_folders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code none; entry->is_directory(none) && !entry->path().filename().string().starts_with("."))
      found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace headroom::models
