#include "experiments/studies/run/jobs.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/parallel.h"
#include "experiments/studies/run/preflight.h"
#include "experiments/studies/run/trial.h"

namespace headroom::experiments {
namespace {

bool wait_for_each_other(const std::vector<const PlannedTrial*>& trials, WorkPool& pool) {
  const auto waits = [&](const PlannedTrial* trial) {
    const tasks::Work work = pool.get(trial->config);
    const auto* const measurement = std::get_if<std::shared_ptr<const tasks::Measurement>>(&work);
    return measurement && (*measurement)->waits_for_others();
  };
  try {
    return std::any_of(trials.begin(), trials.end(), waits);
  } catch (const Error&) {  // check_before_training() reports it
    return false;
  }
}

}  // namespace

StepSeconds step_seconds(const TrialConfig& config, const tasks::Work& work) {
  // docs/performance.md's H100: of f32 and bf16 products, bytes/s within a step, seconds of a kernel that does nothing.
  constexpr double f32_flops = 51e12, bf16_flops = 600e12, bandwidth = 2e12, kernel = 3.3e-6;
  constexpr double kernels_of_layer = 35, other_kernels = 30;
  const tasks::Task* const task = task_of(work);
  if (!task) return {};
  const TrainConfig& train = config.train;
  const tasks::ModelCosts costs = costs_of_batch(config, *task, train.batch);
  const double tokens = static_cast<double>(train.batch * task->model_interface().length);
  const double flops = tokens * (costs.forward_flops + costs.backward_flops);
  // An activation is written, read by both passes and once more by a norm or a bias; its gradient is written and read.
  const double bytes =
      6 * costs.activation_bytes + 2 * (costs.weight_bytes + costs.gradient_bytes + costs.optimizer_bytes);
  const bool is_bf16 = tasks::has_bf16_weights(train.precision, train.device);
  const double busy = flops / (is_bf16 ? bf16_flops : f32_flops) + bytes / bandwidth;
  const double kernels = kernels_of_layer * static_cast<double>(model_for(config, *task).layers) + other_kernels;
  return {busy + static_cast<double>(std::max(train.accumulate, train.parts)) * kernels * kernel, busy};
}

int threads_of(const RunOptions& options) { return options.threads > 0 ? options.threads : engine::num_threads(); }

int wanted_jobs(const std::vector<const PlannedTrial*>& trials, const RunOptions& options, WorkPool& pool) {
  // What is timed has the machine for itself.
  const bool is_timed =
      std::any_of(trials.begin(), trials.end(), [](const PlannedTrial* trial) { return trial->config.train.timed; });
  if (is_timed || options.ranks) return 1;
  if (options.jobs > 0) return options.jobs;
  const int threads = threads_of(options);
  const bool is_on_device = std::any_of(trials.begin(), trials.end(),
                                        [](const PlannedTrial* trial) { return !trial->config.train.device.is_cpu(); });
  if (!is_on_device) return wait_for_each_other(trials, pool) ? 1 : threads;
  StepSeconds sum;
  try {
    for (const PlannedTrial* trial : trials) {
      const StepSeconds step = step_seconds(trial->config, pool.get(trial->config));
      sum.alone += static_cast<double>(trial->config.train.steps) * step.alone;
      sum.busy += static_cast<double>(trial->config.train.steps) * step.busy;
    }
  } catch (const Error&) {  // check_before_training() reports it
  }
  // Twice as many as would fill the card if they took turns evenly; and some even for large models, since validation,
  // batches and the store let the card wait.
  const double wanted = sum.busy > 0 ? 2 * sum.alone / sum.busy : 0;
  return std::min(threads, static_cast<int>(std::lround(std::clamp(wanted, 4.0, 16.0))));
}

}  // namespace headroom::experiments
