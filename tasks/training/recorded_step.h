#pragma once
#include <functional>
#include <optional>
#include <string>

#include "engine/recording.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// Steps on one device that repeat the same work on batches of one shape: an engine::Recorder whose batch is copied
/// into the recording's tensors before each step. Threads: one at a time.
class RecordedStep {
 public:
  /// Calls `note` once, with the reason, if a step cannot be recorded.
  explicit RecordedStep(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// Runs f on `batch`, or replays it. If recording fails, calls `again`, which undoes f's changes on the host, and
  /// runs f op by op from then on.
  engine::Recorder::Turn run(const Batch& batch, engine::Device device, const std::function<void(const Batch&)>& f,
                             const std::function<void()>& again);
  bool is_recorded() const { return recorder_ && recorder_->turn() == engine::Recorder::Turn::replayed; }
  /// True if a batch has the first one's shapes, as recording and replay need.
  bool fits(const Batch& batch) const;
  /// Statistics of the steps' memory pool; zeros if there is none.
  engine::AllocatorStats memory() const { return recorder_ ? recorder_->memory() : engine::AllocatorStats{}; }

 private:
  std::function<void(const std::string&)> note_;
  std::optional<engine::Recorder> recorder_;
  Batch fixed_;  ///< the recording's input, on the device
  bool has_failed_ = false;
};

}  // namespace headroom::tasks
