#pragma once
#include <filesystem>
#include <string>

namespace headroom::experiments {

/// Bytes that this process may have before the system ends it, and what says so.
struct MemoryLimit {
  double bytes = 0;    ///< infinite where nothing is known
  std::string source;  ///< "the machine's memory", "the limit in /sys/fs/cgroup/x/memory.max"
};

/// The smallest of the machine's memory, the address space that the process is allowed, and the limits of its control
/// group and of every group around that, of version 1 (memory.limit_in_bytes) and version 2 (memory.max). `root` stands
/// in front of /proc and /sys.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");

}  // namespace headroom::experiments
