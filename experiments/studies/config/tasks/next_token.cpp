#include "tasks/language/next_token.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/corpus.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_next_token(Reader& in) {
  tasks::NextTokenConfig task;
  task.corpus = bind_corpus(in);
  task.length = in.integer("length", task.length, count, "tokens of context, L");
  if (task.corpus.source == "markov" && task.corpus.markov.order > task.length)
    in.complain("length", fmt::format("{} is out of range: expected >= task.markov.order = {}", task.length,
                                      task.corpus.markov.order));
  return task;
}

TaskWords next_token_words(const TaskJson& task) {
  const bool chars = task_value(task, "tokenizer") == "char" && task_value(task, "source") != "markov";
  return {fmt::format("Given the text so far, the model has to predict the next token: {}, {} tokens of context.",
                      corpus_words(task), task_value(task, "length")),
          chars ? "“To be, or not to b” → “e”" : "a b a c a b a → c, by the odds of what follows"};
}

}  // namespace

const TaskKind next_token_task{"next-token", bind_next_token, next_token_words};

}  // namespace headroom::experiments
