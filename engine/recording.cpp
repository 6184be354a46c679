#include "engine/recording.h"

#include "engine/context.h"
#include "engine/error.h"
#include "engine/transfer.h"

namespace headroom::engine {

bool Recording::is_possible(Device device) {
  return !device.is_cpu() && context().stream && backend_of(device).queues.begin_recording;
}

Recording::Recording(Device device, const std::function<void()>& f) : device_(device) {
  require(is_possible(device), "recording: {} records nothing on this stream", device.str());
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

}  // namespace headroom::engine
