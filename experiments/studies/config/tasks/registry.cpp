#include "experiments/studies/config/tasks/registry.h"

#include <fmt/core.h>

namespace headroom::experiments {

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> kinds{
      {"classification", bind_classification},
      {"linear-functional", bind_linear_functional},
      {"induction-head", bind_induction_head},
      {"volterra", bind_volterra},
      {"allocation-bound", bind_allocation_bound},
      {"constructive-transformer", bind_constructive},
      {"exponential-sum", bind_exponential_sum},
      {"random-projection", bind_random_projection},
      {"softmax-bound", bind_softmax_bound},
      {"svd-bound", bind_svd_bound},
      {"rope-bound", bind_rope_bound},
      {"next-token", bind_next_token},
      {"masked", bind_masked},
      {"instructions", bind_instructions},
      {"attention-heads", bind_attention_heads},
      {"head-spectra", bind_head_spectra},
      {"head-distillation", bind_head_distillation},
      {"two-stage", bind_two_stage},
      {"lowrank-perplexity", bind_lowrank_perplexity},
  };
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
