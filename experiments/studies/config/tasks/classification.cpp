#include "tasks/classification.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

tasks::TaskConfig bind_classification(Reader& in) {
  tasks::ClassificationConfig task;
  task.vocab = in.integer("vocab", task.vocab, {.low = 2, .high = most}, "tokens to draw from, uniformly");
  task.classes = in.integer("classes", task.classes, {.low = 2, .high = most}, "token v is of class v mod classes");
  task.length = in.integer("length", task.length, count, "tokens per sequence, L");
  if (task.classes > task.vocab)
    in.complain("classes", fmt::format("{} is out of range: expected <= task.vocab = {}", task.classes, task.vocab));
  return task;
}

}  // namespace headroom::experiments
