#include "experiments/studies/run/store/owner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>

namespace headroom::experiments {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Field 22 of /proc/PID/stat: clock ticks after boot. "" where the system has no such file.
std::string start_of(int64_t pid) {
  const std::string stat = contents(fmt::format("/proc/{}/stat", pid));
  size_t at = stat.rfind(')');  // the name before it may hold anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

std::string machine() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  char space[64] = {};
  if (readlink("/proc/self/ns/pid", space, sizeof(space) - 1) < 0) space[0] = 0;
  return fmt::format("{} {} {}", host, contents("/proc/sys/kernel/random/boot_id").substr(0, 8), space);
}

}  // namespace

Owner this_process() {
  static std::atomic<int> count{0};
  Owner owner{"", machine(), getpid(), start_of(getpid())};
  owner.name = fmt::format("{}:{}:{}:{}", owner.machine, owner.pid, owner.started, count++);
  return owner;
}

bool is_gone(const Owner& owner) {
  if (owner.machine != machine()) return false;
  if (kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == ESRCH) return true;
  const std::string started = start_of(owner.pid);
  return !started.empty() && !owner.started.empty() && started != owner.started;
}

bool is_here(const Owner& owner) { return owner.machine == machine() && !is_gone(owner); }

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double steady_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace headroom::experiments
