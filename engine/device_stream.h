#pragma once
#include "engine/device.h"

namespace headroom::engine {

/// A device queue for a StreamScope: work that two threads queue on their own streams runs concurrently. On the CPU
/// the handle is null. Leave the thread's stream scope before destroying it; the destructor waits for its work.
class DeviceStream {
 public:
  /// With `is_side`, its work gives way to that of other streams. Throws Error if the device does not exist.
  explicit DeviceStream(Device device, bool is_side = false);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// The handle for StreamScope.
  void* handle() const { return handle_; }

 private:
  Device device_;
  void* handle_ = nullptr;
};

/// Waits until all work queued on the context's stream is done. Does nothing on the CPU.
void synchronize(Device device);
/// True if all that work is done; does not wait. Always true on the CPU.
bool is_idle(Device device);

}  // namespace headroom::engine
