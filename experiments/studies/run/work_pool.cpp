#include "experiments/studies/run/work_pool.h"

#include "tasks/data/sha256.h"

namespace headroom::experiments {

tasks::Work WorkPool::get(const TrialConfig& config) {
  const std::lock_guard lock(mutex_);
  const auto found = problems_.find(config.task_record);
  if (found != problems_.end()) return found->second;
  return problems_.emplace(config.task_record, tasks::make_work(config.task, roots_)).first->second;
}

std::map<std::string, std::string> data_hashes(const TrialConfig& config, std::map<std::string, std::string> of_task) {
  if (config.model.activation != models::Activation::library) return of_task;
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::string& file = config.model.op_library;
  const std::lock_guard lock(mutex);
  if (!known.contains(file)) known[file] = tasks::sha256_of_file(file);
  of_task[file] = known[file];
  return of_task;
}

}  // namespace headroom::experiments
