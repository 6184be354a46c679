#include "tasks/recall.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_recall(Reader& in) {
  tasks::RecallConfig task;
  in.set("keys", task.keys, count, "distinct keys");
  in.set("values", task.values, {.low = 2, .high = most}, "distinct values");
  in.set("pairs", task.pairs, count, "pairs of a key and a value before the question; their keys differ");
  return checked(in, "pairs", task);
}

TaskWords recall_words(const TaskJson& task) {
  return {fmt::format("The model reads {} pairs of a key and a value, then one of the keys, and has to tell the value "
                      "that followed it, one of {}.",
                      task_value(task, "pairs"), task_value(task, "values")),
          "a 3 b 1 c 4, then b → 1"};
}

}  // namespace

const TaskKind recall_task{"recall", bind_recall, recall_words};

}  // namespace headroom::experiments
