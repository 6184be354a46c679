#pragma once
#include <functional>
#include <optional>
#include <string>

#include "engine/allocator.h"
#include "engine/recording.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// How RecordedStep ran a step.
enum class StepOutcome { queued, recorded, replayed };

/// Steps on one device that do the same work each time, on batches of one shape: the first two are queued op by op, the
/// third is recorded, and from then on a step is a copy of the batch into the recording's tensors and one replay. The
/// memory of a step comes from a pool that serves nobody else. Threads: one at a time.
class RecordedStep {
 public:
  /// `note` is called once, with why, where a step cannot be recorded.
  explicit RecordedStep(std::function<void(const std::string&)> note) : note_(std::move(note)) {}

  /// Runs f on `batch`, or replays it. Where recording fails, `again` is called, which undoes what f has done on the
  /// host, and f runs as before; so it does from then on.
  StepOutcome run(const Batch& batch, engine::Device device, const std::function<void(const Batch&)>& f,
                  const std::function<void()>& again);
  bool is_recorded() const { return recording_.has_value(); }
  /// Of the pool that steps take their memory from; zeros where there is none.
  engine::AllocatorStats memory() const { return pool_ ? pool_->stats() : engine::AllocatorStats{}; }

 private:
  bool fits(const Batch& batch) const;

  std::function<void(const std::string&)> note_;
  std::optional<engine::MemoryPool> pool_;
  Batch fixed_;  ///< on the device: what the recording reads
  int64_t queued_ = 0;
  bool has_failed_ = false;
  std::optional<engine::Recording> recording_;
};

}  // namespace headroom::tasks
