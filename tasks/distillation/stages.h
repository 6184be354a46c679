#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/transformer.h"
#include "tasks/measurement.h"
#include "tasks/task.h"
#include "tasks/training/checkpoint.h"
#include "tasks/training/trainer_config.h"

namespace headroom::tasks {

/// The result of one stage of a longer job: tensors and numbers.
struct StageResult {
  models::NamedTensors tensors;
  Metrics metrics;
};

/// Stages shared by several formulas of a study, each computed once. In the run's folder a stage is a file that appears
/// whole or not at all, named by the hash of its inputs, which it also contains; without a folder it stays in memory.
/// Other threads wait while one makes a stage. Processes that share a folder may both make it, with equal results.
class Stages {
 public:
  /// The run must outlive it.
  explicit Stages(const MeasurementRun& run) : run_(run) {}

  /// Makes a stage; it may save progress in the given file (empty: nowhere).
  using Make = std::function<std::optional<StageResult>(const std::filesystem::path& unfinished)>;
  /// The result of the stage that depends only on `what`, made by `make` if missing or damaged. None if it was stopped.
  std::shared_ptr<const StageResult> get(const std::string& what, const Make& make);

 private:
  std::shared_ptr<const StageResult> read(const std::filesystem::path& file, const std::string& what) const;

  const MeasurementRun& run_;
  std::map<std::string, std::shared_ptr<const StageResult>> known_;
};

/// Training settings of a stage.
struct StageTraining {
  TrainerConfig trainer;
  int64_t steps = 0;
  uint64_t seed = 0;  ///< of the batches
};

/// Trains a model's trainable weights, resuming from `unfinished`; saves there from time to time and when stopped.
/// Returns false if stopped. Throws Error naming the step whose loss is not finite.
bool train_stage(const models::Transformer& model, const Objective& objective, const StageTraining& training,
                 const std::filesystem::path& unfinished, const MeasurementRun& run);

/// Copies of a model's trained weights.
models::NamedTensors trained_weights(const models::Transformer& model);

}  // namespace headroom::tasks
