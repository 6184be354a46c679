#include "tasks/language/next_token.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/corpus.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

tasks::TaskConfig bind_next_token(Reader& in) {
  tasks::NextTokenConfig task;
  task.corpus = bind_corpus(in);
  task.length = in.integer("length", task.length, count, "tokens of context, L");
  if (task.corpus.source == "markov" && task.corpus.markov.order > task.length)
    in.complain("length", fmt::format("{} is out of range: expected >= task.markov.order = {}", task.length,
                                      task.corpus.markov.order));
  return task;
}

}  // namespace headroom::experiments
