#pragma once
#include <functional>
#include <memory>

#include "engine/device.h"

namespace headroom::engine {

/// A device's work, recorded once and queued again as a whole, on the memory that it was recorded with (on CUDA a
/// graph). What it takes and gives stands in fixed tensors; what changes from one time to the next is read there, too:
/// StepState, RngKey::base. Memory that f() takes and gives back must serve nobody else as long as it is replayed: let
/// f() run in a PoolScope of its own, twice before recording, so that the pool has it all.
class Recording {
 public:
  /// Whether this thread's stream can record: a device's own stream, not its default one.
  static bool is_possible(Device device);

  /// Runs f(), which queues work on the context's stream and waits for none of it: it is recorded and not run. Throws
  /// Error where f() does, and where what it does cannot be recorded; the stream is then as before.
  Recording(Device device, const std::function<void()>& f);

  /// Queues all of it on the context's stream.
  void replay() const;

 private:
  Device device_;
  std::shared_ptr<void> work_;
};

}  // namespace headroom::engine
