#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/results.h"
#include "models/safetensors/safetensors.h"
#include "tasks/ranks/ranks.h"

namespace headroom::experiments {

/// Called before each update with the number of those done and the latest loss (NaN before the first); false stops the
/// trial.
using StepHook = std::function<bool(int64_t step, double loss)>;

/// Where a trial leaves its state behind.
struct TrialFiles {
  std::filesystem::path checkpoint{};  ///< empty: nowhere
  /// Called with one line when a checkpoint could not be read or written; the training goes on all the same.
  std::function<void(const std::string&)> warn{};
  std::filesystem::path stages{};  ///< of formulas: a folder that all trials of a study share; empty: none
  /// Called with the curve so far when the training begins, and whenever points were added to it.
  std::function<void(const std::vector<HistoryPoint>&)> on_curve{};
  /// Has its argument write a checkpoint to the path that it calls it with, and puts that file in place. False: the
  /// trial is another process's now, and ends as stopped. Without it a checkpoint is written in place.
  std::function<bool(const std::function<void(const std::filesystem::path&)>& write)> keep{};
  /// Asked between the batches of an evaluation: false stops the trial, which does the evaluation again when it goes
  /// on. Not asked where several train it.
  std::function<bool()> goes_on{};
  const std::atomic<bool>* stop = nullptr;  ///< raised: a formula ends within about a second, as stopped
  /// Those that train the trial together, all calling run_trial() with the same config. The first has hooks and files,
  /// and says to the others where to begin and when to stop; they have none.
  tasks::Ranks* ranks = nullptr;
  models::NamedTensors* weights = nullptr;  ///< with train.keep_weights: takes those that the metrics were measured on
};

/// What a trial has come to, apart from what its Trainer keeps.
struct TrialProgress {
  TrialRecord record;  ///< so far: steps, seconds in all processes, curve, and what the judged weights gave
  double best = std::numeric_limits<double>::infinity();  ///< smallest validation error so far
  int64_t stale = 0;                                      ///< validations since then
  double last_loss = std::numeric_limits<double>::quiet_NaN(), gradient_norm = last_loss;  ///< of the latest update
};

/// As a JSON object; doubles are kept to the bit.
std::string to_json(const TrialProgress& progress);
/// Members of other names are passed over. Throws Error that names what is missing or of another type.
TrialProgress progress_from_json(const std::string& text);

/// Throws Error where the config asks for bf16 that this CPU would emulate, unless it allows that.
void check_precision(const TrainConfig& train);

/// The trial's model with what its task takes in and gives out.
models::TransformerConfig model_for(const TrialConfig& config, const tasks::Task& task);

/// Trains one model on `task`, made from config.task, and measures it. Pure but for the clock: the same config gives
/// the same bits on any number of threads, and also when it goes on from a checkpoint of an earlier process. Weights,
/// data and dropout come from the seed's streams; all trials of a task are judged on the same two sets. A loss or
/// gradient that is not finite, or an Error from below, ends the trial as failed ("failed at step 412: loss is not
/// finite (…)"). The record has no id, place, config, code and data yet. A checkpoint is written every
/// train.save_every seconds and at a stop; where one is damaged, or of another instruction set, whose bits differ,
/// there is a warning, and the trial starts over. With ranks an Error is thrown on: they may be out of step.
TrialRecord run_trial(const TrialConfig& config, const tasks::Task& task, const StepHook& on_step = {},
                      const TrialFiles& files = {});
/// The same for either kind: a formula is run, and keeps its stages.
TrialRecord run_trial(const TrialConfig& config, const tasks::Work& work, const StepHook& on_step = {},
                      const TrialFiles& files = {});

/// Matrix-product FLOPs of a trial's training, without running it; 0 for a formula.
double training_flops(const TrialConfig& config, const tasks::Work& work);

}  // namespace headroom::experiments
