#include "engine/device_stream.h"

#include "engine/context.h"
#include "engine/transfer.h"

namespace headroom::engine {

DeviceStream::DeviceStream(Device device, bool is_side) : device_(device) {
  if (device_.is_cpu()) return;
  const DeviceQueues& queues = backend_of(device_).queues;
  if (!queues.make) return;
  handle_ = queues.make(is_side);
  stream_began(handle_);
}

DeviceStream::~DeviceStream() {
  if (!handle_) return;
  backend_of(device_).queues.end(handle_);
  stream_ended(handle_);
}

void synchronize(Device device) {
  if (device.is_cpu()) return;
  const DeviceQueues& queues = backend_of(device).queues;
  if (queues.synchronize) queues.synchronize(context().stream);
}

bool is_idle(Device device) {
  if (device.is_cpu()) return true;
  const DeviceQueues& queues = backend_of(device).queues;
  return !queues.is_idle || queues.is_idle(context().stream);
}

}  // namespace headroom::engine
