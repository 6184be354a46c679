#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tasks/task.h"
#include "tasks/training/trainer.h"

namespace headroom::tasks {

/// The settings of a fine-tuning, by the user's names ("--lr"), in a fixed order. A checkpoint with other settings is
/// refused, naming the first that differs.
using FinetuneSettings = std::vector<std::pair<std::string, std::string>>;

/// One step in the log.
struct FinetuneStep {
  int64_t step = 0;  ///< from 1
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  int64_t tokens = 0;  ///< seen by the model, without padding
  double seconds = 0;  ///< the step's duration
};

/// A training that resumes after being killed. One file holds the settings, the step log, the measures before the first
/// step, weights and moments.
class Finetuning {
 public:
  /// An empty `file` saves nothing. The trainer must outlive it.
  Finetuning(Trainer& trainer, std::filesystem::path file, FinetuneSettings settings);

  /// Loads the file; returns false, changing nothing, if there is none. Throws Error naming the file and the first
  /// setting that differs.
  bool resume();
  /// Trains until `steps` are done, saving after every `save_every` (0: never) and after the last. Calls `on_step`
  /// after each step and `goes_on` before it; if that says no, saves and returns false. Throws Error naming the step if
  /// loss or gradient is not finite.
  bool run(int64_t steps, int64_t save_every, const std::function<int64_t(int64_t step)>& tokens_of,
           const std::function<void(const FinetuneStep&)>& on_step, const std::function<bool()>& goes_on);

  const std::vector<FinetuneStep>& log() const { return log_; }
  /// Measured before the first step and saved with the training.
  Metrics before{};

 private:
  void save() const;

  Trainer& trainer_;
  std::filesystem::path file_;
  FinetuneSettings settings_;
  std::vector<FinetuneStep> log_;
};

}  // namespace headroom::tasks
