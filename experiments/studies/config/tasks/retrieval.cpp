#include "tasks/retrieval.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_retrieval(Reader& in) {
  tasks::RetrievalConfig task;
  in.set("features", task.features, count,
         "features that the target sums, D: the number of heads that the theorem asks for");
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens per sequence, T");
  in.set("vector_seed", task.vector_seed, {.low = 0, .high = most}, "of the features' directions");
  return checked(in, "features", task);
}

TaskWords retrieval_words(const TaskJson& task) {
  return {
      fmt::format("At every position the model has to output the sum of {} numbers, each the largest that a direction "
                  "of its own finds among all {} tokens. Tokens are vectors of {} numbers between 0 and 1.",
                  task_value(task, "features"), task_value(task, "length"), task_value(task, "token_dim")),
      "with the directions (1, 0) and (0, 1): x = (0.2, 0.9), (0.5, 0.1), then y = 0.5 + 0.9 = 1.4"};
}

}  // namespace

const TaskKind retrieval_task{"retrieval", bind_retrieval, retrieval_words};

}  // namespace headroom::experiments
