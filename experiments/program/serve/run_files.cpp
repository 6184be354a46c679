#include "experiments/program/serve/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string> served_types{{".html", "text/html; charset=utf-8"},
                                                      {".svg", "image/svg+xml"},
                                                      {".csv", "text/csv; charset=utf-8"},
                                                      {".json", "application/json"},
                                                      {".toml", "text/plain; charset=utf-8"}};

/// The names of a folder's HTML files, sorted.
std::vector<std::string> html_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& file : models::entries_if_any(folder, ".html")) {
    std::error_code none;
    const std::string name = file.filename().string();
    if (!name.starts_with(".") && fs::is_regular_file(fs::symlink_status(file, none))) names.push_back(name);
  }
  return names;
}

/// Opens a path under `root`, both without links. Each step starts from the folder that the one before has opened, so
/// no name can become a link in between. Returns -1 on failure, as does any step from -1.
int opened_under(const fs::path& root, const fs::path& path) {
  int at = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (auto part = path.begin(); part != path.end(); ++part) {
    const int folder = at;
    const bool is_last = std::next(part) == path.end();
    // O_NONBLOCK: a named pipe would wait for a writer.
    at = openat(folder, part->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY));
    close(folder);
  }
  return at;
}

/// True if the content starts like a store, whatever its name: hard links cannot be seen.
bool is_store(int file) {
  static const std::string_view start = "SQLite format 3";
  char bytes[16] = {};
  return pread(file, bytes, start.size(), 0) == static_cast<ssize_t>(start.size()) && start == bytes;
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

ServedFile served_file(const fs::path& out, const fs::path& folder, const std::string& name) {
  const auto type = served_types.find(fs::path(name).extension());
  const bool is_name =
      !name.empty() && name[0] != '.' && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  if (!is_name || type == served_types.end()) return {};
  std::error_code error;
  const fs::path root = fs::canonical(out, error);
  const fs::path place = error ? fs::path() : fs::canonical(folder, error);
  if (error || std::mismatch(root.begin(), root.end(), place.begin(), place.end()).first != root.end()) return {};
  const auto file = std::make_shared<FileToSend>();
  // The folder of all runs itself is ".", which leads nowhere else.
  file->descriptor = opened_under(root, place.lexically_relative(root) / name);
  struct stat status {};  // stays so where there is no file
  fstat(file->descriptor, &status);
  if (!S_ISREG(status.st_mode) || is_store(file->descriptor)) return {};
  file->size = static_cast<uint64_t>(status.st_size);
  return {type->second, file};
}

}  // namespace headroom::experiments
