#pragma once
#include <filesystem>
#include <string>

#include "engine/device.h"

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
/// What is free now on a device that is not the CPU: "the free memory of cuda:0". Throws Error where it is not there.
MemoryLimit device_memory_limit(engine::Device device);

}  // namespace headroom::experiments
