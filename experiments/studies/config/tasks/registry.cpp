#include "experiments/studies/config/tasks/registry.h"

#include <fmt/core.h>

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

}  // namespace headroom::experiments
