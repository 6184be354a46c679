#include "experiments/studies/run/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "engine/read_number.h"
#include "engine/transfer.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A mounted tree of control groups that may limit memory.
struct Hierarchy {
  bool is_v2 = false;
  fs::path mount;   ///< "/sys/fs/cgroup"
  std::string top;  ///< the group that is mounted there: "/" outside containers
};

std::vector<std::string> words_of(const std::string& line, char at) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, at);) words.push_back(word);
  return words;
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// From lines "36 35 98:0 /top /mount options - cgroup2 source options" (proc(5)).
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = words_of(line.substr(0, dash), ' '),
                                   kind = words_of(line.substr(dash + 3), ' ');
    if (place.size() < 5 || kind.empty()) continue;
    const bool is_v2 = kind[0] == "cgroup2";
    if (is_v2 || (kind[0] == "cgroup" && kind.size() > 2 && has_word(kind[2], "memory")))
      found.push_back({is_v2, place[4], place[3]});
  }
  return found;
}

/// The process's group in a hierarchy, from lines "0::/group" and "4:memory,cpu:/group".
std::string group_of(const fs::path& root, const Hierarchy& hierarchy) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.is_v2 ? controllers.empty() : has_word(controllers, "memory")) return line.substr(second + 1);
  }
  return "/";
}

/// The number in a file; none for "max" and for a file that is not there.
std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return read_number<double>(word);
}

void take_smaller(MemoryLimit& limit, std::optional<double> bytes, const std::string& source) {
  if (bytes && *bytes > 0 && *bytes < limit.bytes) limit = {*bytes, source};
}

void look_at_groups(const fs::path& root, const Hierarchy& hierarchy, MemoryLimit& limit) {
  const char* const name = hierarchy.is_v2 ? "memory.max" : "memory.limit_in_bytes";
  std::string group = group_of(root, hierarchy);
  const std::string& top = hierarchy.top;
  if (top != "/" && (group == top || group.starts_with(top + "/"))) group.erase(0, top.size());
  std::vector<fs::path> folders{hierarchy.mount};
  for (const std::string& part : words_of(group, '/'))
    if (!part.empty()) folders.push_back(folders.back() / part);
  for (const fs::path& folder : folders) {
    const fs::path file = folder / name;
    take_smaller(limit, number_in(root / file.relative_path()), "the limit in " + file.string());
  }
}

/// "MemTotal:       32768 kB"
std::optional<double> machine_bytes(const fs::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string key, unit; in >> key;) {
    double kib = 0;
    if (key == "MemTotal:" && in >> kib) return 1024 * kib;
    std::getline(in, unit);
  }
  return std::nullopt;
}

}  // namespace

MemoryLimit memory_limit(const fs::path& root) {
  MemoryLimit limit{infinite, "no limit that is known"};
  take_smaller(limit, machine_bytes(root), "the machine's memory");
  struct rlimit space {};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    take_smaller(limit, static_cast<double>(space.rlim_cur), "the limit of its address space (ulimit -v)");
  for (const Hierarchy& hierarchy : hierarchies(root)) look_at_groups(root, hierarchy, limit);
  return limit;
}

MemoryLimit device_memory_limit(engine::Device device) {
  const auto room = engine::backend_of(device).memory.room;
  if (!room) return {infinite, "no limit that is known"};
  return {static_cast<double>(room().first), fmt::format("the free memory of {}", device.str())};
}

}  // namespace headroom::experiments
