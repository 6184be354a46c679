#include "engine/control_groups.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#ifdef HEADROOM_OPENMP
extern "C" int omp_get_num_procs();  // its header belongs to parallel.cpp
#endif

namespace headroom::engine {
namespace {

namespace fs = std::filesystem;

/// A mounted tree of control groups.
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
std::vector<Hierarchy> hierarchies(const fs::path& root, const std::string& controller) {
  std::vector<Hierarchy> found;
  std::ifstream in(root / "proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = words_of(line.substr(0, dash), ' '),
                                   kind = words_of(line.substr(dash + 3), ' ');
    if (place.size() < 5 || kind.empty()) continue;
    const bool is_v2 = kind[0] == "cgroup2";
    if (is_v2 || (kind[0] == "cgroup" && kind.size() > 2 && has_word(kind[2], controller)))
      found.push_back({is_v2, place[4], place[3]});
  }
  return found;
}

/// The process's group in a hierarchy, from lines "0::/group" and "4:memory,cpu:/group".
std::string group_of(const fs::path& root, const Hierarchy& hierarchy, const std::string& controller) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.is_v2 ? controllers.empty() : has_word(controllers, controller)) return line.substr(second + 1);
  }
  return "/";
}

/// CPUs that a group's quota is worth: "150000 100000" in one file, or in two; 0 where there is none ("max", -1).
double quota_in(const fs::path& root, const ControlGroup& group, const std::string& file) {
  double quota = 0, period = 0;
  std::ifstream in(root / (group.folder / file).relative_path());
  in >> quota;
  if (!group.is_v2) in = std::ifstream(root / (group.folder / "cpu.cfs_period_us").relative_path());
  in >> period;
  return quota > 0 && period > 0 ? quota / period : 0;
}

int processors_by_affinity() {
#ifdef HEADROOM_OPENMP
  return omp_get_num_procs();  // the runtime may have bound this very thread to fewer
#else
  constexpr size_t most = 1 << 16;
  for (size_t size = 1024; size <= most; size *= 4) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(size), [](cpu_set_t* s) { CPU_FREE(s); });
    if (set && sched_getaffinity(getpid(), CPU_ALLOC_SIZE(size), set.get()) == 0)
      return CPU_COUNT_S(CPU_ALLOC_SIZE(size), set.get());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
#endif
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  for (const Hierarchy& hierarchy : hierarchies(root, controller)) {
    std::string group = group_of(root, hierarchy, controller);
    const std::string& top = hierarchy.top;
    if (top != "/" && (group == top || group.starts_with(top + "/"))) group.erase(0, top.size());
    groups.push_back({hierarchy.mount, hierarchy.is_v2});
    for (const std::string& part : words_of(group, '/'))
      if (!part.empty()) groups.push_back({groups.back().folder / part, hierarchy.is_v2});
  }
  return groups;
}

ProcessorLimit processor_limit(const fs::path& root) {
  const auto online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  ProcessorLimit limit{std::max(online, 1), ""};
  if (const int count = processors_by_affinity(); count >= 1 && count < limit.count)
    limit = {count, "the affinity of this process"};
  for (const ControlGroup& group : control_groups("cpu", root)) {
    const std::string file = group.is_v2 ? "cpu.max" : "cpu.cfs_quota_us";
    const double count = std::ceil(quota_in(root, group, file));
    if (count >= 1 && count < limit.count)
      limit = {static_cast<int>(count), fmt::format("the quota in {}", (group.folder / file).string())};
  }
  return limit;
}

}  // namespace headroom::engine
