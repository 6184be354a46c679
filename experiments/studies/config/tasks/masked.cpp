#include "tasks/language/masked.h"

#include <fmt/core.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/config/tasks/corpus.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_masked(Reader& in) {
  tasks::MaskedConfig task;
  task.corpus = bind_corpus(in);
  task.length = in.integer("length", task.length, count, "tokens per sequence, L");
  const Bounds share{.low = 0, .high = 1};
  task.masked = in.real("masked", task.masked, {.low = 0, .high = 1, .low_open = true}, "share of tokens to be told");
  task.replaced_by_mask = in.real("replaced_by_mask", task.replaced_by_mask, share, "of those, share hidden by [MASK]");
  task.replaced_by_any =
      in.real("replaced_by_any", task.replaced_by_any, share, "of those, share replaced by any token; the rest stay");
  if (task.replaced_by_mask + task.replaced_by_any > 1)
    in.complain("replaced_by_any", fmt::format("{} is out of range: expected <= 1 - task.replaced_by_mask = {}",
                                               task.replaced_by_any, 1 - task.replaced_by_mask));
  return task;
}

std::string percent(const TaskJson& table, const char* key) {
  return fmt::format("{} %", exact(std::round(1000 * task_number(table, key, 0)) / 10));
}

TaskWords masked_words(const TaskJson& task) {
  return {fmt::format("{} of the tokens are hidden or changed ({} of those shown as [MASK]), and the model has to "
                      "recover them from both sides: {}, {} tokens of context.",
                      percent(task, "masked"), percent(task, "replaced_by_mask"), corpus_words(task),
                      task_value(task, "length")),
          task_value(task, "tokenizer") == "char" ? "“To b_, or n_t to be” → “e”, “o”" : "the _ sat on the mat → cat"};
}

}  // namespace

const TaskKind masked_task{"masked", bind_masked, masked_words};

}  // namespace headroom::experiments
