#include "experiments/studies/config/tasks/registry.h"

#include <fmt/core.h>

#include "tasks/attention_lags.h"

namespace headroom::experiments {

const std::vector<TaskKind>& task_kinds() {
#define HEADROOM_TASK_ROW(name) name##_task,
  static const std::vector<TaskKind> kinds{HEADROOM_TASK_KINDS(HEADROOM_TASK_ROW)};
#undef HEADROOM_TASK_ROW
  return kinds;
}

tasks::TaskConfig bind_task(Reader& in) {
  std::vector<std::string> names;
  for (const TaskKind& kind : task_kinds()) names.emplace_back(kind.name);
  const size_t problems = in.problems().size();
  const std::string name = in.word("kind", std::nullopt, names, "what the model learns");
  const bool is_known = in.problems().size() == problems;
  if (!is_known) in.skip_rest();
  tasks::TaskConfig config;
  for (const TaskKind& kind : task_kinds())
    in.when(is_known && name == kind.name, fmt::format("with task.kind = \"{}\"", kind.name),
            [&] { config = kind.bind(in); });
  return config;
}

int64_t bind_attention_lags(Reader& in, int64_t length) {
  const int64_t lags = in.integer("attention_lags", {0, "0: none, except for an n-gram up to its n"},
                                  {.low = 0, .high = tasks::most_attention_lags},
                                  "lags up to which each head's attention is measured, as metrics, on the test set");
  in.leave_out_default("attention_lags");
  if (lags >= length)
    in.complain("attention_lags", fmt::format("{} is out of range: expected < task.length = {}", lags, length));
  return lags;
}

void bind_first_position(Reader& in, int64_t& first_position) {
  in.set("first_position", first_position, {.low = 0, .high = most},
         "loss and metrics over positions from this one on, counted from 0");
}

TaskWords task_words(const TaskJson& task) {
  const std::string name = task_value(task, "kind");
  for (const TaskKind& kind : task_kinds())
    if (kind.name == name) return kind.words(task);
  return {fmt::format("A task of the kind {}.", name)};
}

}  // namespace headroom::experiments
