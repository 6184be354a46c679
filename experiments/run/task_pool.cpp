#include "experiments/run/task_pool.h"

namespace headroom::experiments {

std::shared_ptr<const tasks::Task> TaskPool::get(const TrialConfig& config) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const tasks::Task>& task = tasks_[config.task_record];
  if (!task) task = tasks::make_task(config.task, roots_);
  return task;
}

}  // namespace headroom::experiments
