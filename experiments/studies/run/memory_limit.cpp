#include "experiments/studies/run/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <optional>

#include "engine/control_groups.h"
#include "engine/read_number.h"
#include "engine/transfer.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

constexpr double infinite = std::numeric_limits<double>::infinity();

/// The number in a file; none for "max" and for a missing file.
std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return read_number<double>(word);
}

void take_smaller(MemoryLimit& limit, std::optional<double> bytes, const std::string& source) {
  if (bytes && *bytes > 0 && *bytes < limit.bytes) limit = {*bytes, source};
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
  for (const engine::ControlGroup& group : engine::control_groups("memory", root)) {
    const fs::path file = group.folder / (group.is_v2 ? "memory.max" : "memory.limit_in_bytes");
    take_smaller(limit, number_in(root / file.relative_path()), "the limit in " + file.string());
  }
  return limit;
}

MemoryLimit device_memory_limit(engine::Device device) {
  const auto room = engine::backend_of(device).memory.room;
  if (!room) return {infinite, "no limit that is known"};
  return {static_cast<double>(room().first), fmt::format("the free memory of {}", device.str())};
}

}  // namespace headroom::experiments
