#pragma once
#include <functional>
#include <optional>
#include <string>

#include "engine/recording.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Steps on one device that do the same work each time, on batches of one shape: an engine::Recorder's work, whose
/// batch is copied into the recording's tensors before each step. Threads: one at a time.
class RecordedStep {
 public:
  /// `note` is called once, with why, where a step cannot be recorded.
  explicit RecordedStep(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// Runs f on `batch`, or replays it. Where recording fails, `again` is called, which undoes what f has done on the
  /// host, and f runs as before; so it does from then on.
  engine::Recorder::Turn run(const Batch& batch, engine::Device device, const std::function<void(const Batch&)>& f,
                             const std::function<void()>& again);
  bool is_recorded() const { return recorder_ && recorder_->turn() == engine::Recorder::Turn::replayed; }
  /// Whether a batch has the shapes of the first one, as those must that are recorded or replayed.
  bool fits(const Batch& batch) const;
  /// Statistics of the pool that steps take their memory from; zeros where there is none.
  engine::AllocatorStats memory() const { return recorder_ ? recorder_->memory() : engine::AllocatorStats{}; }

 private:
  std::function<void(const std::string&)> note_;
  std::optional<engine::Recorder> recorder_;
  Batch fixed_;  ///< on the device: what the recording reads
  bool has_failed_ = false;
};

}  // namespace headroom::tasks
