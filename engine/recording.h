#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "engine/allocator.h"
#include "engine/device.h"
#include "engine/side_stream.h"

namespace headroom::engine {

/// A device's work, recorded once and replayed as a whole on the same memory (on CUDA, a graph). Its inputs and outputs
/// are fixed tensors; values that change from replay to replay are read from memory too: StepState, RngKey::base.
/// Nobody else may use memory that f() allocates and frees while replays go on: run f() in its own PoolScope, twice
/// before recording, so that the pool holds all it needs.
class Recording {
 public:
  /// True if this thread's stream can record: it must not be the device's default stream.
  static bool is_possible(Device device);

  /// Records f() without running it. f() queues work on the context's stream and waits for none of it. Throws Error if
  /// f() does, or if its work cannot be recorded; the stream is then unchanged.
  Recording(Device device, const std::function<void()>& f);

  /// Queues the whole recording on the context's stream.
  void replay() const;

 private:
  Device device_;
  std::shared_ptr<void> work_;
};

/// Runs repeated work: op by op the first two times, then recorded, then replayed. The first run makes lasting objects
/// (tables, plans); the second allocates as every later one will. Uses its own memory pool, and a SideStream unless
/// uses_side_stream() is false. Threads: one at a time.
class Recorder {
 public:
  enum class Turn { queued, recorded, replayed };
  explicit Recorder(Device device) : device_(device), pool_(device.kind), side_(device) {}

  /// How the next run() will go.
  Turn turn() const;
  /// Runs the next turn; f() must suit Recording. Throws Error if f() does. Throws Error at the recording turn if f()
  /// cannot be recorded: nothing has run then.
  void run(const std::function<void()>& f);
  /// Starts over because memory that f() uses has moved; keeps the pool.
  void forget();
  AllocatorStats memory() const { return pool_.stats(); }

 private:
  Device device_;
  MemoryPool pool_;
  SideStream side_;
  int queued_ = 0;
  std::optional<Recording> recording_;
};

}  // namespace headroom::engine
