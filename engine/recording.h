#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "engine/allocator.h"
#include "engine/device.h"

namespace headroom::engine {

/// A device's work, recorded once and queued again as a whole, on the memory that it was recorded with (on CUDA a
/// graph). What it takes and gives is in fixed tensors; what changes from one time to the next is read there, too:
/// StepState, RngKey::base. Memory that f() takes and gives back must not be used by others as long as it is replayed:
/// let f() run in a PoolScope of its own, twice before recording, so that the pool has it all.
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

/// Work that is the same each time: queued op by op the first two times, of which the first makes what lasts (tables,
/// plans) and the second asks for memory as every later one does; then recorded, and from then on replayed. Its memory
/// comes from a pool of its own. Threads: one at a time.
class Recorder {
 public:
  enum class Turn { queued, recorded, replayed };
  explicit Recorder(Device device);

  /// How the next run() goes.
  Turn turn() const;
  /// Takes its turn; f() as Recording needs it. Throws Error where f() does, and at the turn to record where it cannot
  /// be recorded: then nothing was run.
  void run(const std::function<void()>& f);
  /// Starts over, as what f() reads or writes has moved; the memory stays.
  void forget();
  AllocatorStats memory() const { return pool_.stats(); }

 private:
  Device device_;
  MemoryPool pool_;
  int queued_ = 0;
  std::optional<Recording> recording_;
};

}  // namespace headroom::engine
