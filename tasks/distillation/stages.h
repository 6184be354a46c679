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

/// What a stage of a longer work comes to: tensors and numbers.
struct StageResult {
  models::NamedTensors tensors;
  Metrics metrics;
};

/// Stages that several formulas of a study share, each made once. In the run's folder a stage is a file that appears
/// whole or not at all, named by the hash of all that it depends on, which the file holds, too; without a folder it is
/// in memory. A stage that one thread makes the others wait for. Processes that share a folder may both make one: the
/// results are the same.
class Stages {
 public:
  /// The run must outlive this.
  explicit Stages(const MeasurementRun& run) : run_(run) {}

  /// Where a stage saves what it has done so far; empty: nowhere.
  using Make = std::function<std::optional<StageResult>(const std::filesystem::path& unfinished)>;
  /// The result of the stage that depends on `what`, and on nothing else, made by `make` unless it is there. None
  /// where it was stopped. A damaged file is made again.
  std::shared_ptr<const StageResult> get(const std::string& what, const Make& make);

  const MeasurementRun& run() const { return run_; }

 private:
  std::shared_ptr<const StageResult> read(const std::filesystem::path& file, const std::string& what) const;

  const MeasurementRun& run_;
  std::map<std::string, std::shared_ptr<const StageResult>> known_;
};

/// How a stage trains.
struct StageTraining {
  TrainerConfig trainer;
  int64_t steps = 0;
  uint64_t seed = 0;  ///< of the batches
};

/// Trains the trained weights of a model, from where `unfinished` says, and saves there from time to time and when it
/// is stopped. False when it was stopped. Throws Error naming the step whose loss is not finite.
bool train_stage(const models::Transformer& model, const Objective& objective, const StageTraining& training,
                 const std::filesystem::path& unfinished, const MeasurementRun& run);

/// Copies of the weights of a model that are trained.
models::NamedTensors trained_weights(const models::Transformer& model);

}  // namespace headroom::tasks
