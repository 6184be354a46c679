#include "experiments/serve/run_files.h"

#include <algorithm>
#include <map>
#include <system_error>

#include "engine/error.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t most_bytes = uint64_t{1} << 28;

const std::map<std::string, std::string> served_types{{".html", "text/html; charset=utf-8"},
                                                      {".svg", "image/svg+xml"},
                                                      {".csv", "text/csv; charset=utf-8"},
                                                      {".json", "application/json"},
                                                      {".toml", "text/plain; charset=utf-8"}};

/// Names of a folder's HTML files, in the order of the alphabet.
std::vector<std::string> html_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code none; entry->path().extension() == ".html" && entry->is_regular_file(none) &&
                              !entry->path().filename().string().starts_with("."))
      names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Whether a path, with every link followed, lies under a folder.
bool is_inside(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path place = fs::canonical(path, error);
  if (error) return false;
  const fs::path root = fs::canonical(folder, error);
  if (error) return false;
  return std::mismatch(root.begin(), root.end(), place.begin(), place.end()).first == root.end();
}

}  // namespace

std::vector<std::string> pages_of(const StoredRun& run) {
  std::vector<std::string> names = html_in(run.folder);
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "report.html"; });
  return names;
}

std::vector<std::string> pages_in(const fs::path& out) {
  std::vector<std::string> names = html_in(out);
  std::erase(names, "index.html");
  return names;
}

std::optional<ServedFile> served_file(const fs::path& out, const fs::path& folder, const std::string& name) {
  const auto type = served_types.find(fs::path(name).extension());
  const bool is_name =
      !name.empty() && name[0] != '.' && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (!is_name || type == served_types.end()) return std::nullopt;
  const fs::path path = folder / name;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || !is_inside(path, out)) return std::nullopt;
  try {
    return ServedFile{type->second, models::read_file(path, {"file", most_bytes})};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace headroom::experiments
