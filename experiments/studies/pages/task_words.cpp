#include "experiments/studies/pages/task_words.h"

#include <fmt/format.h>

#include <set>

#include "experiments/studies/claims/curve.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

TaskWords task_words(const TaskJson& task) {
  const std::string name = task_value(task, "kind");
  for (const TaskKind& kind : task_kinds())
    if (kind.name == name) return kind.words(task);
  return {fmt::format("A task of the kind {}.", name)};
}

TaskWords task_words(const StudyResults& r) {
  std::vector<TaskJson> tasks;
  std::set<std::string> seen;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TaskJson config = TaskJson::parse(trial->config, nullptr, false);
    if (!config.is_object() || !task_part(config, "task").contains("kind")) continue;
    if (seen.insert(config["task"].dump()).second) tasks.push_back(config["task"]);
  }
  if (tasks.empty()) return {};
  TaskWords out = task_words(tasks[0]);
  std::set<std::string> differing;
  for (const TaskJson& task : tasks)
    for (const auto& [key, value] : task.items())
      if (const auto first = tasks[0].find(key); first == tasks[0].end() || *first != value) differing.insert(key);
  if (differing.count("kind")) out.words += " That is the task of the first series; others have tasks of their own.";
  else if (!differing.empty())
    out.words +=
        fmt::format(" That describes the first of several settings: they differ in {}.", fmt::join(differing, ", "));
  return out;
}

}  // namespace headroom::experiments
