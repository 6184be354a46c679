#pragma once
#include <vector>

#include "experiments/studies/toml/reader.h"
#include "tasks/make_task.h"

namespace headroom::experiments {

/// One value of task.kind. A new kind is a file beside this one that defines its bind function, a declaration below,
/// and a line in registry.cpp.
struct TaskKind {
  const char* name;
  /// Reads the keys of [task] that this kind has; task.kind is read already.
  tasks::TaskConfig (*bind)(Reader& in);
};
const std::vector<TaskKind>& task_kinds();

/// [task]
tasks::TaskConfig bind_task(Reader& in);

tasks::TaskConfig bind_classification(Reader& in);
tasks::TaskConfig bind_allocation_bound(Reader& in);
tasks::TaskConfig bind_constructive(Reader& in);
tasks::TaskConfig bind_exponential_sum(Reader& in);
tasks::TaskConfig bind_induction_head(Reader& in);
tasks::TaskConfig bind_linear_functional(Reader& in);
tasks::TaskConfig bind_random_projection(Reader& in);
tasks::TaskConfig bind_rope_bound(Reader& in);
tasks::TaskConfig bind_softmax_bound(Reader& in);
tasks::TaskConfig bind_svd_bound(Reader& in);
tasks::TaskConfig bind_volterra(Reader& in);
tasks::TaskConfig bind_next_token(Reader& in);
tasks::TaskConfig bind_masked(Reader& in);
tasks::TaskConfig bind_instructions(Reader& in);
tasks::TaskConfig bind_attention_heads(Reader& in);
tasks::TaskConfig bind_head_spectra(Reader& in);
tasks::TaskConfig bind_head_distillation(Reader& in);
tasks::TaskConfig bind_two_stage(Reader& in);
tasks::TaskConfig bind_lowrank_perplexity(Reader& in);

}  // namespace headroom::experiments
