#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/studies/config/sweep.h"
#include "experiments/studies/results.h"

namespace headroom::experiments {

/// Is told of one trial by the thread that trains it. No function may throw.
class TrialWatcher {
 public:
  virtual ~TrialWatcher() = default;
  /// The curve so far: when the training begins, with what a checkpoint had, and whenever points were added.
  virtual void curve(const std::vector<HistoryPoint>& so_far) = 0;
  /// How it ended, once that is kept. A trial that was stopped has not ended.
  virtual void end(const TrialRecord& trial) = 0;
};

/// Makes a trial's watcher; `warn` takes lines for the user, as long as the watcher lives.
using WatchTrial = std::function<std::unique_ptr<TrialWatcher>(const PlannedTrial&,
                                                               const std::function<void(const std::string&)>& warn)>;

}  // namespace headroom::experiments
