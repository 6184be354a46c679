#include "experiments/run/train/attention.h"

#include <algorithm>

#include "tasks/attention_lags.h"

namespace headroom::experiments {
namespace {

constexpr int64_t most_lags = 16;

}  // namespace

tasks::Metrics heads_by_lag(const TrialConfig& config, const models::Transformer& model, const tasks::Batch& set) {
  const auto* task = std::get_if<tasks::LinearFunctionalConfig>(&config.task);
  const bool is_measured = task && config.model.causal && task->kernel.kind == "n-gram" &&
                           task->kernel.n <= most_lags && task->kernel.n < task->length;
  if (!is_measured || set.input.dim(0) == 0) return {};
  const tasks::Batch part = set.slice(0, std::min(set.input.dim(0), config.train.batch));
  return tasks::attention_by_lag(model, part, task->kernel.n);
}

}  // namespace headroom::experiments
