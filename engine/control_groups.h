#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom::engine {

/// The folder of a control group that this process is in, or of one around that.
struct ControlGroup {
  std::filesystem::path folder;  ///< "/sys/fs/cgroup/a/b"
  bool is_v2 = false;
};

/// The control groups whose `controller` ("memory", "cpu") holds for this process, of versions 1 and 2, each after
/// those around it. `root` stands in front of /proc; put it in front of the folders as well.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::filesystem::path& root = "/");

/// CPUs that this process may use at once, at least 1, and what limits them.
struct ProcessorLimit {
  int count = 1;
  std::string source;  ///< "" = nothing; "the affinity of this process", "the quota in /sys/fs/cgroup/x/cpu.max"
};

/// The smallest of the machine's CPUs, those that the process's affinity names, and the quotas, rounded up, of its
/// control group and of every group around that (cpu.cfs_quota_us, cpu.max). `root` stands in front of /proc and /sys.
ProcessorLimit processor_limit(const std::filesystem::path& root = "/");

}  // namespace headroom::engine
