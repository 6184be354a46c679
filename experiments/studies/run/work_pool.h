#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "experiments/studies/config/trial_config.h"

namespace headroom::experiments {

/// The tasks and formulas of a study, each made once and shared by its trials: a corpus is read and tokenised once.
/// Safe to call from several threads.
class WorkPool {
 public:
  explicit WorkPool(tasks::DataRoots roots) : roots_(std::move(roots)) {}

  /// What the trial works on. Throws Error as make_work() does.
  tasks::Work get(const TrialConfig& config);

 private:
  const tasks::DataRoots roots_;
  std::mutex mutex_;
  std::map<std::string, tasks::Work> problems_;  ///< by the record of [task]
};

}  // namespace headroom::experiments
