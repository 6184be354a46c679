#include "models/files/output.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <system_error>

#include "engine/error.h"
#include "models/files/entries_of.h"
#include "models/files/temporary_name.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

/// True if a folder is a model or a run: its files are read together, whichever of them was named.
bool is_read_whole(const fs::path& folder) {
  std::error_code none;
  if (fs::exists(folder / "config.json", none) || fs::exists(folder / "store.sqlite", none)) return true;
  const std::vector<fs::path> entries = entries_if_any(folder);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& path) {
    return path.extension() == ".safetensors" || path.extension() == ".gguf";
  });
}

/// True if `folder` is `above` or lies in it, also through links.
bool is_within(const fs::path& folder, const fs::path& above) {
  std::error_code error;
  for (fs::path at = fs::canonical(folder, error); !error; at = at.parent_path()) {
    if (is_same(at, above)) return true;
    if (!at.has_relative_path()) return false;
  }
  return false;
}

/// True if the folder holds `file`, possibly under another name.
bool holds(const fs::path& folder, const fs::path& file) {
  const std::vector<fs::path> entries = entries_if_any(folder);
  return std::any_of(entries.begin(), entries.end(), [&](const fs::path& path) { return is_same(path, file); });
}

bool is_read(const fs::path& output, const fs::path& input) {
  std::error_code none;
  if (is_same(output, input)) return true;
  if (fs::is_directory(output, none)) return is_within(folder_of(input), output);
  if (!fs::is_directory(input, none)) return false;
  if (is_read_whole(input) && holds(input, output)) return true;
  const fs::path folder = folder_of(fs::canonical(output, none));
  return is_read_whole(folder) && is_within(folder, input);
}

std::mutex promised_mutex;

/// Names that are to be new.
std::set<fs::path>& promised() {
  static std::set<fs::path> names;
  return names;
}

fs::path whole(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

}  // namespace

void check_apart(const fs::path& output, const std::vector<CommandInput>& inputs) {
  std::error_code none;
  if (!fs::exists(output, none)) return;
  for (const CommandInput& input : inputs)
    require(!fs::exists(input.path, none) || !is_read(output, input.path),
            "{}: is read by this command ({} {}), and would be replaced; name another", output.string(), input.argument,
            input.path.string());
}

void check_new(const fs::path& output, bool force) {
  std::error_code none;
  const fs::file_status there = fs::symlink_status(output, none);
  const bool may_be_replaced = force || !(fs::is_regular_file(there) || fs::is_symlink(there));
  require(may_be_replaced || (fs::is_symlink(there) && fs::exists(output, none) && !fs::is_regular_file(output, none)),
          "{}: exists; --force replaces it", output.string());
  const std::lock_guard lock(promised_mutex);
  if (!force && !fs::exists(there)) promised().insert(whole(output));
}

bool is_promised_new(const fs::path& output) {
  const std::lock_guard lock(promised_mutex);
  return promised().contains(whole(output));
}

void forget_promise(const fs::path& output) {
  const std::lock_guard lock(promised_mutex);
  promised().erase(whole(output));
}

}  // namespace headroom::models
