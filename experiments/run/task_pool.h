#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "experiments/config/trial_config.h"

namespace headroom::experiments {

/// The tasks of a study, each made once and shared by its trials: a corpus is read and tokenised once. Safe to call
/// from several threads.
class TaskPool {
 public:
  explicit TaskPool(tasks::DataRoots roots) : roots_(std::move(roots)) {}

  /// The trial's task. Throws Error as make_task() does.
  std::shared_ptr<const tasks::Task> get(const TrialConfig& config);

 private:
  const tasks::DataRoots roots_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const tasks::Task>> tasks_;  ///< by the record of [task]
};

}  // namespace headroom::experiments
