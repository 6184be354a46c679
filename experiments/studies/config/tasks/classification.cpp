#include "tasks/classification.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_classification(Reader& in) {
  tasks::ClassificationConfig task;
  in.set("vocab", task.vocab, {.low = 2, .high = most}, "tokens to draw from, uniformly");
  in.set("classes", task.classes, {.low = 2, .high = most}, "token v is of class v mod classes; the commonest wins");
  in.set("length", task.length, count, "tokens per sequence, L");
  if (task.classes > task.vocab)
    in.complain("classes", fmt::format("{} is out of range: expected <= task.vocab = {}", task.classes, task.vocab));
  return task;
}

TaskWords classification_words(const TaskJson& task) {
  return {fmt::format("In a sequence of {} random tokens the model has to tell the commonest of {} classes. Made for "
                      "timing: any data would do.",
                      task_value(task, "length"), task_value(task, "classes")),
          fmt::format("token v is of class v mod {}", task_value(task, "classes"))};
}

}  // namespace

const TaskKind classification_task{"classification", bind_classification, classification_words};

}  // namespace headroom::experiments
