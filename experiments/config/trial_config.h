#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "models/config.h"
#include "tasks/make_task.h"

namespace headroom::experiments {

/// Which weights a trial is judged by: those of the last step, or those of the best validation so far.
enum class Judged { last, best };

/// [train]
struct TrainConfig {
  int64_t steps = 1000;
  int64_t batch = 32;  ///< sequences, fresh ones each step
  autograd::OptimizerConfig optimizer;
  std::vector<autograd::ScheduleConfig> schedule;  ///< factors; none: constant
  double clip = 0;                                 ///< largest global gradient norm; 0: no clipping
  int64_t eval_every = 0;                          ///< steps between validations; 0: only after the last step
  int64_t eval_sequences = 512;                    ///< of the validation set, and of the test set
  Judged judged = Judged::last;
};

/// Everything that decides a trial's numbers.
struct TrialConfig {
  tasks::TaskConfig task;
  models::TransformerConfig model;  ///< what the task decides (length, vocabulary, dims) is set when it runs
  TrainConfig train;
  int64_t seed = 0;
  /// JSON of every key that was read for a part, with its resolved value, defaults included, keys sorted. A config that
  /// is changed after it was read keeps the records of what was read.
  std::string task_record = "{}", model_record = "{}", train_record = "{}";
};

/// JSON of all records and the seed: equal configs give equal text.
std::string canonical_json(const TrialConfig& config);
/// 32 hexadecimal digits: 128-bit FNV-1a of the canonical JSON and of the version of the training code.
std::string trial_id(const TrialConfig& config);

}  // namespace headroom::experiments
