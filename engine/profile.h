#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "engine/device.h"
#include "engine/work.h"

namespace headroom::engine {

/// One run of an op. Microseconds from the start of the profile; on the CPU the device's are the host's.
struct ProfiledOp {
  const char* name;
  double host_begin, host_time;      ///< of the thread that ran it, or queued it
  double device_begin, device_time;  ///< from the first to the last of its kernels on the stream
  double own_time;                   ///< of device_time, without the ops that this one ran
  Work work{};
  size_t outer = 0;  ///< the place in ops() of the op that ran this one; its own: none
};

/// Times every op that this thread runs while it lives: by events on the context's stream where the device queues its
/// work, else by the clock. Ranges for NVIDIA's tools (NVTX) carry the ops' names meanwhile. Ops of a recording that is
/// replayed are not seen: let them run op by op. Threads: each has its own; one at a time.
class Profile {
 public:
  /// Throws Error when the device is not there.
  explicit Profile(Device device);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Waits for the device; what has run so far, in that order.
  std::vector<ProfiledOp> ops() const;

  /// Called by the dispatcher around an op.
  void begin(const char* name);
  void set_work(Work work) { spans_[open_.back()].work = std::move(work); }
  void end();

 private:
  struct Span {
    const char* name;
    double begin, end;
    void *first, *last;  ///< points in time of the stream; null on the CPU
    size_t outer;        ///< the span of the op that ran this one; its own: none
    Work work{};
  };
  double now() const;

  Device device_;
  void* stream_;
  std::chrono::steady_clock::time_point start_;
  void* zero_ = nullptr;
  std::vector<Span> spans_;
  std::vector<size_t> open_;
  Profile* outer_;
};

/// This thread's; null: nothing is timed.
inline constinit thread_local Profile* active_profile = nullptr;

/// An op's run, for the profile if there is one.
class OpSpan {
 public:
  explicit OpSpan(const char* name) : profile_(active_profile) {
    if (profile_) profile_->begin(name);
  }
  ~OpSpan() {
    if (profile_) profile_->end();
  }
  OpSpan(const OpSpan&) = delete;
  OpSpan& operator=(const OpSpan&) = delete;

 private:
  Profile* profile_;
};

/// The ops in Chrome's trace format, which Perfetto opens: a track of the host and one of the device.
std::string profile_trace(const std::vector<ProfiledOp>& ops, Device device);

}  // namespace headroom::engine
