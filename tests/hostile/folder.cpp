#include "tests/hostile/folder.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>

#include "engine/error.h"
#include "tests/hostile/edits.h"
#include "tests/support/folder.h"

namespace headroom::hostile {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t compared = 1 << 22;  ///< files above this size are compared by size alone

void write_spec(const fs::path& path, const FileSpec& file) {
  std::ofstream out(path, std::ios::binary);
  out << file.bytes;
  for (int64_t i = 0; i < file.times; ++i) out << file.unit;
  out << file.tail;
  require(static_cast<bool>(out.flush()), "cannot write {}", path.string());
}

}  // namespace

void make_files(const std::vector<FileSpec>& files, const fs::path& folder) {
  for (const FileSpec& file : files) {
    const fs::path path = folder / file.name;
    fs::create_directories(path.parent_path());
    switch (file.kind) {
      case FileSpec::Kind::bytes:
        write_spec(path, file);
        break;
      case FileSpec::Kind::fifo:
        require(mkfifo(path.c_str(), 0644) == 0, "{}: {}", path.string(), std::strerror(errno));
        break;
      case FileSpec::Kind::folder:
        fs::create_directories(path);
        break;
      case FileSpec::Kind::link:
        fs::create_symlink(file.bytes, path);
        break;
    }
  }
  for (const FileSpec& file : files)
    if (file.mode >= 0) fs::permissions(folder / file.name, static_cast<fs::perms>(file.mode));
}

void edit_files(const std::vector<std::pair<std::string, std::string>>& edits, const fs::path& folder) {
  for (const auto& [name, edit] : edits)
    testing::write_bytes(folder / name, bytes_edited(testing::read_bytes(folder / name), edit));
}

Listing listing_of(const fs::path& folder) {
  Listing found;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options)) {
    std::string state = fmt::format("{}", static_cast<int>(entry.symlink_status().type()));
    if (!entry.is_symlink() && entry.is_regular_file()) {
      state += fmt::format(" {}", entry.file_size());
      if (entry.file_size() <= compared)
        state += fmt::format(" {}", std::hash<std::string>()(testing::read_bytes(entry.path())));
    }
    found[entry.path().lexically_relative(folder).string()] = state;
  }
  return found;
}

std::vector<std::string> differences(const Listing& before, const Listing& after) {
  std::vector<std::string> out;
  for (const auto& [path, state] : after)
    if (const auto old = before.find(path); old == before.end() || old->second != state) out.push_back(path);
  for (const auto& [path, state] : before)
    if (after.count(path) == 0) out.push_back(path + " (removed)");
  return out;
}

}  // namespace headroom::hostile
