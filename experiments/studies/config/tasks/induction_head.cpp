#include "tasks/induction_head.h"

#include <fmt/core.h>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_induction_head(Reader& in) {
  using tasks::InductionTarget;
  tasks::InductionHeadConfig task;
  in.set("target", task.target, {{"copy", InductionTarget::copy}, {"generalized", InductionTarget::generalized}},
         "the next token inside a repeated pattern, or the generalized head IH_n");
  in.set("tokens", task.tokens, {.low = 2, .high = most}, "distinct tokens, one-hot");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens per sequence, L");
  in.set("pattern", task.pattern, {.low = 3, .high = most}, "tokens of the pattern that repeats");
  in.set("repeats", task.repeats, {.low = 2, .high = most}, "its occurrences in a sequence");
  in.set("train_sequences", task.train_sequences, count, "the training set, shuffled each epoch");
  in.set("data_seed", task.data_seed, {.low = 0, .high = most}, "of the training set");
  in.when(task.target == InductionTarget::generalized, "with target = \"generalized\"", [&] {
    in.set("n", task.n, {.low = 2, .high = most}, "n - 1 tokens are compared");
    in.set("lambda", task.lambda, at_least(0), "W* = lambda I");
    in.set("sees_current", task.sees_current, "the softmax runs over v <= t, not v <= t - 1");
  });
  task.attention_lags = bind_attention_lags(in, task.length);
  return checked(in, "kind", task);
}

TaskWords induction_head_words(const TaskJson& task) {
  const std::string tokens =
      fmt::format("{} distinct tokens, {} to a sequence", task_value(task, "tokens"), task_value(task, "length"));
  if (task_value(task, "target") == "generalized")
    return {
        fmt::format("At every position the model has to output the mean of the tokens that followed places like the "
                    "present one: the last {} tokens are compared. Random sequences of {}.",
                    exact(task_number(task, "n", 2) - 1), tokens),
        "7 3 9 2 7: the last token, 7, stood before 3, so the answer is 3"};
  return {fmt::format("A random pattern of {} tokens stands {} times in a random sequence of {}. Inside its later "
                      "occurrences the model has to output the next token.",
                      task_value(task, "pattern"), task_value(task, "repeats"), tokens),
          "7 3 9 2 5 … 7 3 9 2 → 5: the pattern 7 3 9 2 5 has been seen before"};
}

}  // namespace

const TaskKind induction_head_task{"induction-head", bind_induction_head, induction_head_words};

}  // namespace headroom::experiments
