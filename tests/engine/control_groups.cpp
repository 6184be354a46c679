// How many CPUs a process may use, by affinity and by quotas of either version of control groups.
#include "engine/control_groups.h"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/folder.h"

using namespace headroom::engine;
using headroom::testing::TemporaryFolder;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("the CPUs that may be used are the fewest of the affinity's and of all quotas around the process") {
  const TemporaryFolder root;
  const auto limit = [&] { return processor_limit(root.path()); };
  const int all = limit().count;
  CHECK(all == processor_limit(root / "nowhere").count);
  REQUIRE(all >= 1);

  // Version 2: of a group around the process's own; a quota of less than a CPU is rounded up.
  write(root / "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  write(root / "proc/self/cgroup", "0::/a/b\n");
  write(root / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(limit().count == all);
  CHECK(limit().source.find("quota") == std::string::npos);
  write(root / "sys/fs/cgroup/a/cpu.max", "20000 100000\n");
  CHECK(limit().count == 1);
  if (all > 1) CHECK(limit().source == "the quota in /sys/fs/cgroup/a/cpu.max");
  write(root / "sys/fs/cgroup/a/cpu.max", "100001 100000\n");
  CHECK(limit().count == std::min(all, 2));

  // Version 1, whose container has its own group as the top; -1 is no quota, and neither is a broken file.
  write(root / "proc/self/mountinfo",
        "35 31 0:32 /docker/x /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
        "36 31 0:33 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n");
  write(root / "proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/x/y\n");
  const std::filesystem::path top = root / "sys/fs/cgroup/cpu,cpuacct";
  write(top / "cpu.cfs_quota_us", "-1\n");
  write(top / "cpu.cfs_period_us", "100000\n");
  write(top / "y/cpu.cfs_quota_us", "garbage");
  CHECK(limit().count == all);
  write(top / "y/cpu.cfs_quota_us", "50000\n");
  CHECK(limit().count == all);  // without a period
  write(top / "y/cpu.cfs_period_us", "50000\n");
  CHECK(limit().count == 1);
  if (all > 1) CHECK(limit().source == "the quota in /sys/fs/cgroup/cpu,cpuacct/y/cpu.cfs_quota_us");
}
