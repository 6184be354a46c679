#include "experiments/studies/run/work_pool.h"

namespace headroom::experiments {

tasks::Work WorkPool::get(const TrialConfig& config) {
  const std::lock_guard lock(mutex_);
  const auto found = problems_.find(config.task_record);
  if (found != problems_.end()) return found->second;
  return problems_.emplace(config.task_record, tasks::make_work(config.task, roots_)).first->second;
}

}  // namespace headroom::experiments
