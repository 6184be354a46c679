#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/context.h"
#include "engine/device_stream.h"

namespace headroom::engine {

class Storage;

/// A second queue of a device, beside the stream of a Recorder's work: for kernels whose results are read only at the
/// end, such as the gradients of weights. Work queued in a SideScope runs after all that the main stream had queued
/// until then, in order, and beside what the main stream queues later, until join_side().
///
/// Every storage of another stream that such work uses is held until the join, so that the main stream neither gets its
/// memory for something else nor writes to it in place (Tensor::is_unique()). Above `most_held` bytes the main stream
/// waits for the oldest of that work, and its storages go. Threads: one at a time.
class SideStream {
 public:
  explicit SideStream(Device device, int64_t most_held = int64_t{1} << 30) : device_(device), most_held_(most_held) {}

  /// Makes it the thread's side stream, beside the context's stream. Work that no join has followed, after an error, is
  /// joined at the end.
  class Use {
   public:
    explicit Use(SideStream& side);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  /// True for its stream and for the main one. Neither needs to wait for a block of the other that is free: what used
  /// it on the side is joined by then, and each SideScope begins after the main stream's work.
  bool orders(const void* stream) const { return stream == main_ || (stream_ && stream == stream_->handle()); }
  /// Notes that work of the context's stream uses the storage.
  void use(const std::shared_ptr<Storage>& storage);

 private:
  friend class SideScope;
  friend void join_side();

  /// What work up to `end` uses.
  struct Held {
    std::vector<std::shared_ptr<Storage>> storages;
    int64_t bytes = 0;
    std::shared_ptr<void> end;
  };
  void* fork();
  void join();
  /// Ends the list of what the latest scopes use.
  void close();

  Device device_;
  int64_t most_held_;
  void* main_ = nullptr;
  std::optional<DeviceStream> stream_;  ///< made by the first scope
  bool is_forked_ = false;
  Held open_;
  std::deque<Held> held_;
  int64_t bytes_ = 0;  ///< of held_
};

/// The thread's side stream; null: none.
SideStream* side_stream();
/// False if HEADROOM_SIDE_STREAM=off keeps all work on one stream, for comparing the two.
bool uses_side_stream();

/// Queues this thread's work on its side stream, after all work of the main one so far. Does nothing without one, or in
/// another SideScope. Results may be read after join_side() only, or in a later SideScope.
class SideScope : ContextScope {
 public:
  SideScope();
};

/// Makes the main stream's later work wait for all work of the thread's side stream, if there is any.
void join_side();

}  // namespace headroom::engine
