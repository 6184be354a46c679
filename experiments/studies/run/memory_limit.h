#pragma once
#include <filesystem>
#include <string>

#include "engine/device.h"

namespace headroom::experiments {

/// Memory that the system allows this process, and the source of that limit.
struct MemoryLimit {
  double bytes = 0;    ///< infinite if unknown
  std::string source;  ///< "the machine's memory", "the limit in /sys/fs/cgroup/x/memory.max"
};

/// The smallest of the machine's memory, the address space that the process is allowed, and the limits of its control
/// group and of every group around that, of version 1 (memory.limit_in_bytes) and version 2 (memory.max). `root` stands
/// in front of /proc and /sys.
MemoryLimit memory_limit(const std::filesystem::path& root = "/");
/// The memory now free on a device other than the CPU: "the free memory of cuda:0". Throws Error if it does not exist.
MemoryLimit device_memory_limit(engine::Device device);

}  // namespace headroom::experiments
