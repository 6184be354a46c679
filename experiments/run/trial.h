#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "experiments/config/trial_config.h"
#include "experiments/results.h"

namespace headroom::experiments {

/// How one trial ended.
struct TrialOutcome {
  TrialStatus status = TrialStatus::finished;
  bool stopped = false;  ///< on_step asked for it: nothing of this trial counts
  std::string message;   ///< of a failed one: "failed at step 412: loss is not finite (…)"
  std::map<std::string, double> validation, test;
  int64_t parameters = 0;
  double flops = 0;  ///< matrix products of training: forward × 3, per step
  double seconds = 0;
};

/// Called before each update with its number from 0 and the loss before it; false stops the trial.
using StepHook = std::function<bool(int64_t step, double loss)>;

/// The trial's model with what its task takes in and gives out.
models::TransformerConfig model_for(const TrialConfig& config, const tasks::Task& task);

/// Trains one model on `task`, made from config.task, and measures it. Pure but for the clock: the same config gives
/// the same bits on any number of threads. Weights, data and dropout come from the seed's streams; all trials of a task
/// are judged on the same two sets. A loss or gradient that is not finite, or an Error from below, ends the trial as
/// failed.
TrialOutcome run_trial(const TrialConfig& config, const tasks::Task& task, const StepHook& on_step = {});

/// Matrix-product FLOPs of a trial's training, without running it.
double training_flops(const TrialConfig& config, const tasks::Task& task);

}  // namespace headroom::experiments
