#pragma once
#include <functional>
#include <vector>

#include "experiments/studies/config/tasks/words.h"
#include "experiments/studies/toml/reader.h"
#include "tasks/make_task.h"

namespace headroom::experiments {

/// One value of task.kind.
struct TaskKind {
  const char* name;
  /// Reads the keys of [task] that this kind has; task.kind is read already.
  tasks::TaskConfig (*bind)(Reader& in);
  std::function<TaskWords(const TaskJson& task)> words;
};

/// Words that do not depend on the task's keys: of most formulas.
inline std::function<TaskWords(const TaskJson&)> always(const char* words) {
  return [words](const TaskJson&) { return TaskWords{words}; };
}

/// The config after its own validate(), whose problem is told at `key`.
template <class Config>
tasks::TaskConfig checked(Reader& in, const char* key, const Config& config) {
  in.attempt(key, [&] { validate(config); });
  return config;
}

/// The key `attention_lags` of a task with sequences of `length`: up to which lag the heads' attention is measured.
int64_t bind_attention_lags(Reader& in, int64_t length);
/// The key `first_position` of a task that scores only later positions.
void bind_first_position(Reader& in, int64_t& first_position);

/// Every kind, in the order of `headroom schema`. A new one is its name here, and a file in this folder that defines
/// its row, NAME_task.
#define HEADROOM_TASK_KINDS(X) \
  X(classification)            \
  X(linear_functional)         \
  X(induction_head)            \
  X(volterra)                  \
  X(retrieval)                 \
  X(allocation_bound)          \
  X(constructive)              \
  X(representability)          \
  X(exponential_sum)           \
  X(random_projection)         \
  X(softmax_bound)             \
  X(svd_bound)                 \
  X(rope_bound)                \
  X(next_token)                \
  X(masked)                    \
  X(instructions)              \
  X(attention_heads)           \
  X(head_spectra)              \
  X(head_distillation)         \
  X(two_stage)                 \
  X(lowrank_perplexity)

#define HEADROOM_TASK_ROW(name) extern const TaskKind name##_task;
HEADROOM_TASK_KINDS(HEADROOM_TASK_ROW)
#undef HEADROOM_TASK_ROW

const std::vector<TaskKind>& task_kinds();

/// In the words of a trial's resolved [task], whose kind may be any of task_kinds(). A kind that is not known gives its
/// name alone: the task may come from a store of a newer program.
TaskWords task_words(const TaskJson& task);

/// [task]
tasks::TaskConfig bind_task(Reader& in);

}  // namespace headroom::experiments
