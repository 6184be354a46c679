#pragma once
#include <cstdint>
#include <string>

namespace headroom::experiments {

/// Who holds a lease: a process, so that another one on the same machine can tell whether it still lives.
struct Owner {
  std::string name;     ///< unique: two stores of one process differ
  std::string machine;  ///< host, boot and process namespace: where a pid means the same
  int64_t pid = 0;
  std::string started;  ///< when the process began, so that a pid used again is not taken for it
};

/// This process, under a name of its own for each call.
Owner this_process();

/// Whether a process is known to be gone. False for one on another machine: only the end of its lease shows that.
bool is_gone(const Owner& owner);

/// Whether it runs on this machine, or is stopped there.
bool is_here(const Owner& owner);

/// Seconds since 1970.
double wall_clock();
/// Seconds since some moment, the same for all of this process; setting the machine's clock does not change it.
double steady_clock();

/// A lease that was not renewed for this long may be taken by others; its owner renews it every renewal_seconds.
inline constexpr double lease_seconds = 60, renewal_seconds = 5;

}  // namespace headroom::experiments
