#include "experiments/studies/run/problem_pool.h"

namespace headroom::experiments {

tasks::Problem ProblemPool::get(const TrialConfig& config) {
  const std::lock_guard lock(mutex_);
  const auto found = problems_.find(config.task_record);
  if (found != problems_.end()) return found->second;
  return problems_.emplace(config.task_record, tasks::make_problem(config.task, roots_)).first->second;
}

}  // namespace headroom::experiments
