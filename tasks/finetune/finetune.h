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

/// What a fine-tuning depends on, by the names that the user gave it ("--lr"), in a fixed order: a checkpoint
/// of other settings is refused with the first that differs.
using FinetuneSettings = std::vector<std::pair<std::string, std::string>>;

/// One step, as the log has it.
struct FinetuneStep {
  int64_t step = 0;  ///< from 1
  double loss = 0, gradient_norm = 0, learning_rate = 0;
  int64_t tokens = 0;  ///< that the model saw, padding not counted
  double seconds = 0;  ///< that the step took
};

/// A training that continues where it was killed. The settings, the steps' log and the measures before the first step
/// lie in the same file as weights and moments.
class Finetuning {
 public:
  /// `file` is empty where nothing is saved. The trainer must outlive this.
  Finetuning(Trainer& trainer, std::filesystem::path file, FinetuneSettings settings);

  /// Takes over what the file has; false, and nothing is changed, where there is none. Throws Error naming the file and
  /// the first setting that differs.
  bool resume();
  /// Trains until `steps` are done, and saves after each `save_every` of them (0: never) and after the last. `on_step`
  /// sees each step. False, after a save, once `goes_on`, asked before each step, says no. Throws Error naming the step
  /// where loss or gradient is not finite.
  bool run(int64_t steps, int64_t save_every, const std::function<int64_t(int64_t step)>& tokens_of,
           const std::function<void(const FinetuneStep&)>& on_step, const std::function<bool()>& goes_on);

  const std::vector<FinetuneStep>& log() const { return log_; }
  /// Measured before the first step; kept with the training.
  Metrics before{};

 private:
  void save() const;

  Trainer& trainer_;
  std::filesystem::path file_;
  FinetuneSettings settings_;
  std::vector<FinetuneStep> log_;
};

}  // namespace headroom::tasks
