#pragma once
#include "engine/device.h"

namespace headroom::engine {

/// A queue of a device's work of its own, for a StreamScope: what two threads queue on streams of their own runs side
/// by side. On the CPU there is none, and the handle is null. It goes when its work is done, on the thread's stream
/// scope being left before.
class DeviceStream {
 public:
  /// Throws Error when the device is not there.
  explicit DeviceStream(Device device);
  ~DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  /// For StreamScope.
  void* handle() const { return handle_; }

 private:
  Device device_;
  void* handle_ = nullptr;
};

/// Waits until all that is queued on the context's stream is done. Nothing on the CPU.
void synchronize(Device device);
/// Whether that is so now, without waiting. True on the CPU.
bool is_idle(Device device);

}  // namespace headroom::engine
