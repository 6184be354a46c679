#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom::engine {

/// The folder of this process's control group, or of one of its ancestors.
struct ControlGroup {
  std::filesystem::path folder;  ///< "/sys/fs/cgroup/a/b"
  bool is_v2 = false;
};

/// The control groups (versions 1 and 2) whose `controller` ("memory", "cpu") applies to this process, ancestors first.
/// `root` is put in front of /proc; put it in front of the returned folders too.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::filesystem::path& root = "/");

/// The number of CPUs this process may use at once, at least 1, and what limits it.
struct ProcessorLimit {
  int count = 1;
  std::string source;  ///< "" = nothing; "the affinity of this process", "the quota in /sys/fs/cgroup/x/cpu.max"
};

/// The smallest of the machine's CPU count, the process's affinity, and the quotas, rounded up, of its control group
/// and all its ancestors (cpu.cfs_quota_us, cpu.max). `root` is put in front of /proc and /sys.
ProcessorLimit processor_limit(const std::filesystem::path& root = "/");

}  // namespace headroom::engine
