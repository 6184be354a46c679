#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "engine/optim/step_state.h"
#include "engine/rng.h"
#include "models/transformer.h"
#include "tasks/task.h"
#include "tasks/training/resume.h"
#include "tasks/training/trainer_config.h"

namespace headroom::tasks {

/// What a training step is made of, in this order; forward and backward once for each part of the batch.
enum class Phase { batch, forward, backward, update };

/// Trains a model: batch → loss → backward → clip → optimizer → schedule. What changes from step to step is a StepState
/// on the device, which the host reads every `read_every` steps. The same arguments give the same bits on any number of
/// threads, and also when the training went through a checkpoint. Not for several threads at once.
class Trainer {
 public:
  /// Binds the model's parameters to an arena on the device; the model and the objective must outlive the trainer.
  /// `rng` goes on where drawing the weights left it. Throws Error for settings out of range, when a pattern of decay
  /// or no_decay matches no parameter, and when another trainer has the model.
  Trainer(const models::Transformer& model, const Objective& objective, const TrainerConfig& config, engine::Rng rng);
  Trainer(const models::Transformer&&, const Objective&, const TrainerConfig&, engine::Rng) = delete;  ///< a temporary
  Trainer(const models::Transformer&, const Objective&&, const TrainerConfig&, engine::Rng) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// One step, with the sequences that the objective has for it. The gradients of the parts of a batch add up in their
  /// order, each weighted by its share of scored targets. Where the loss or the gradient norm is not finite the weights
  /// and moments stay as they were. `on_phase` is called at the end of each phase. Returns state().
  const engine::StepState& step(const std::function<void(Phase)>& on_phase = {});
  /// Forward pass and loss of a batch, as a step does it.
  Var loss(const Batch& batch);
  /// The step's state when the host last read it: after the latest step with read_every = 1.
  const engine::StepState& state() const { return state_; }
  int64_t steps_done() const { return steps_done_; }
  /// A validation error, for schedules that listen.
  void observe(double error);

  /// Everything that a step changes: weights ("model." before their names), moments ("optimizer."), streams, schedule.
  Checkpoint checkpoint() const;
  /// Throws Error naming what does not fit; nothing is changed then.
  void restore(const Checkpoint& checkpoint);
  /// The same in one file, which appears whole or not at all.
  void save(const std::filesystem::path& path) const { save_checkpoint(path, "", checkpoint()); }
  void load(const std::filesystem::path& path) { restore(load_checkpoint(path, "")); }
  /// load() where there is such a file, else nothing. Returns steps_done(): where a loop over the steps begins.
  int64_t resume(const std::filesystem::path& path);

 private:
  void begin_step();
  void end_step(uint64_t random_start);

  const models::Transformer& model_;
  const Objective& objective_;
  const TrainerConfig config_;
  engine::Rng rng_;
  const autograd::ParameterArena arena_;
  const std::unique_ptr<autograd::Optimizer> optimizer_;
  const std::unique_ptr<autograd::Schedule> schedule_;
  engine::Tensor rates_;   ///< f64 (read_every), on the device: learning rates of the steps up to rates_end_
  int64_t rates_end_ = 0;  ///< the first step that has no rate yet
  int64_t steps_done_ = 0;
  engine::StepState state_;
};

/// "loss is not finite" or "gradient is not finite" after a step that changed nothing, else null.
const char* problem_of(const engine::StepState& state);

}  // namespace headroom::tasks
