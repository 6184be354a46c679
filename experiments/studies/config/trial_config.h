#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "engine/context.h"
#include "models/config.h"
#include "tasks/make_task.h"
#include "tasks/training/trainer_config.h"

namespace headroom::experiments {

/// The weights to judge a trial by: those of the last step, or those of the best validation so far.
enum class Judged { last, best };

/// The weights before the first update: drawn by model.init, or drawn and then overwritten with those from the proof of
/// Theorem 1 for the task, only the slopes or all (Task::construct).
enum class Start { drawn, slopes, constructive };

/// A validation metric and the value that it is to reach: trials get a metric "steps_to".
struct StepsTo {
  std::string metric;
  double value = 0;
};

/// Steps of a timed trial before the first that counts.
inline constexpr int64_t warm_up_steps = 3;

/// [train]
struct TrainConfig : tasks::TrainerConfig {
  int64_t steps = 1000;
  int64_t eval_every = 0;        ///< steps between validations; 0: only after the last step
  int64_t eval_sequences = 512;  ///< of the validation set, and of the test set
  Judged judged = Judged::last;
  Start start = Start::drawn;
  std::optional<StepsTo> steps_to{};
  int64_t patience = 0;   ///< successive validations without a new best before training ends; 0: no early stop
  int64_t log_every = 0;  ///< steps between training losses of the history; 0: about 100 of them
  engine::Precision precision = engine::Precision::f32;
  bool tf32 = false;   ///< f32 products of a GPU read 10 bits of mantissa; part of a trial's id where it is on
  bool timed = false;  ///< the phases of a step are timed and become metrics; the trial has the machine for itself
  // What follows changes no number of a trial beyond what another processor does, and is not part of its id; nor is
  // the device.
  bool allow_emulation = false;  ///< of bf16 on a CPU without it
  double save_every = 20;        ///< seconds between checkpoints; 0: one before each step
  bool keep_weights = false;     ///< the judged weights stay as a file
};

/// Everything that decides a trial's numbers.
struct TrialConfig {
  tasks::TaskConfig task;
  models::TransformerConfig model;  ///< the task decides length, vocabulary and dims when it runs
  TrainConfig train;
  int64_t seed = 0;
  /// JSON of every key read for a part, with its resolved value, defaults included, keys sorted. A config that is
  /// changed later keeps its original records.
  std::string task_record = "{}", model_record = "{}", train_record = "{}";
};

/// JSON of all records and the seed: equal configs give equal text.
std::string canonical_json(const TrialConfig& config);
/// 32 hexadecimal digits: 128-bit FNV-1a of the canonical JSON and of the version of the training code.
std::string trial_id(const TrialConfig& config);
/// The same for a canonical JSON.
std::string trial_id_of(const std::string& canonical);
/// True if an id belongs to a canonical JSON, for this version of the training code or an earlier one.
bool is_id_of_config(const std::string& id, const std::string& canonical);

}  // namespace headroom::experiments
