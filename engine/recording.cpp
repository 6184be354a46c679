#include "engine/recording.h"

#include "engine/context.h"
#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

constexpr int queued_before = 2;

}  // namespace

bool Recording::is_possible(Device device) {
  return !device.is_cpu() && context().stream && backend_of(device).queues.begin_recording;
}

Recording::Recording(Device device, const std::function<void()>& f) : device_(device) {
  require(is_possible(device), "recording: {} records nothing on this stream", device);
  const DeviceQueues& queues = backend_of(device).queues;
  void* const stream = context().stream;
  queues.begin_recording(stream);
  try {
    f();
  } catch (...) {
    queues.end_recording(stream, false);
    throw;
  }
  work_ = queues.end_recording(stream, true);
}

void Recording::replay() const { backend_of(device_).queues.replay(work_.get(), context().stream); }

Recorder::Turn Recorder::turn() const {
  if (recording_) return Turn::replayed;
  return queued_ < queued_before ? Turn::queued : Turn::recorded;
}

void Recorder::run(const std::function<void()>& f) {
  const Turn now = turn();
  if (now != Turn::replayed) {
    const PoolScope scope(pool_);
    std::optional<SideStream::Use> side;
    if (uses_side_stream()) side.emplace(side_);
    const auto joined = [&] {
      f();
      join_side();
    };
    if (now == Turn::recorded) recording_.emplace(device_, joined);
    else joined(), ++queued_;
  }
  if (now != Turn::queued) recording_->replay();
}

void Recorder::forget() {
  recording_.reset();
  queued_ = 0;
}

}  // namespace headroom::engine
