#pragma once
#include <string>
#include <utility>
#include <vector>

#include "engine/device.h"
#include "engine/work.h"

namespace headroom::engine {

/// One run of an op. In microseconds from the profile's start; on the CPU, device times equal host times.
struct ProfiledOp {
  const char* name;
  double host_begin, host_time;      ///< of the thread that ran or queued it
  double device_begin, device_time;  ///< from the first to the last of its kernels on the stream
  double own_time;                   ///< device_time minus that of the ops it ran
  Work work{};
  size_t outer = 0;  ///< index in ops() of the op that ran this one; its own index if none
};

/// Times every op this thread runs during its lifetime: by events on the context's stream if the device queues its
/// work, else by the clock. NVTX ranges carry the ops' names for NVIDIA's tools. It cannot see inside a replayed
/// recording: run those ops one by one. Threads: each has its own profile; one at a time.
class Profile {
 public:
  /// Throws Error if the device does not exist.
  explicit Profile(Device device);
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Waits for the device; returns the ops run so far, in order.
  std::vector<ProfiledOp> ops() const;

  /// The dispatcher calls this before and after an op.
  void begin(const char* name);
  void set_work(Work work) { spans_[open_.back()].work = std::move(work); }
  void end();

 private:
  struct Span {
    const char* name;
    double begin, end;
    void *first, *last;  ///< points in time of the stream; null on the CPU
    size_t outer;        ///< index of the span of the op that ran this one; its own if none
    Work work{};
  };
  double now() const;

  Device device_;
  void* stream_;
  double start_;  ///< microseconds of the steady clock
  void* zero_ = nullptr;
  std::vector<Span> spans_;
  std::vector<size_t> open_;
  Profile* outer_;
};

/// This thread's profile; null: nothing is timed.
inline constinit thread_local Profile* active_profile = nullptr;

/// Records an op's run in the active profile, if any.
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

/// The ops in Chrome's trace format, which Perfetto opens: one track for the host and one for the device.
std::string profile_trace(const std::vector<ProfiledOp>& ops, Device device);

}  // namespace headroom::engine
