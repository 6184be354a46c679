#include "tasks/language/masked.h"

#include <fmt/core.h>

#include "experiments/studies/config/tasks/corpus.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {

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

}  // namespace headroom::experiments
