#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "experiments/studies/config/trial_config.h"

namespace headroom::experiments {

/// The tasks and formulas of a study, each made once and shared by its trials: a corpus is read and tokenised once.
/// Safe to call from several threads.
class WorkPool {
 public:
  explicit WorkPool(tasks::DataRoots roots) : roots_(std::move(roots)) {}

  /// What the trial works on. Throws Error as make_work() does.
  tasks::Work get(const TrialConfig& config) {
    const std::lock_guard lock(mutex_);
    const auto found = problems_.find(config.task_record);
    if (found != problems_.end()) return found->second;
    return problems_.emplace(config.task_record, tasks::make_work(config.task, roots_)).first->second;
  }

 private:
  const tasks::DataRoots roots_;
  std::mutex mutex_;
  std::map<std::string, tasks::Work> problems_;  ///< by the record of [task]
};

/// The task of what trains; null for a formula.
inline const tasks::Task* task_of(const tasks::Work& work) {
  const auto* const task = std::get_if<std::shared_ptr<const tasks::Task>>(&work);
  return task ? task->get() : nullptr;
}

}  // namespace headroom::experiments
