#include "experiments/run/task_pool.h"

namespace headroom::experiments {

std::shared_ptr<const tasks::Task> TaskPool::get(const tasks::TaskConfig& config) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const tasks::Task>& task = tasks_[canonical_json(config)];
  if (!task) task = tasks::make_task(config, roots_);
  return task;
}

}  // namespace headroom::experiments
