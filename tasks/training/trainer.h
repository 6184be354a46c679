#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "engine/optim/step_state.h"
#include "engine/rng.h"
#include "models/transformer.h"
#include "tasks/ranks/overlapped_sum.h"
#include "tasks/task.h"
#include "tasks/training/recorded_step.h"
#include "tasks/training/resume.h"
#include "tasks/training/trainer_config.h"

namespace headroom::tasks {

/// The phases of a training step, in order; forward and backward run once per part of the batch.
enum class Phase { batch, forward, backward, update };

/// Trains a model: batch → loss → backward → clip → optimizer → schedule. State that changes per step is a StepState on
/// the device, which the host reads every `read_every` steps. Equal arguments give equal bits on any number of threads,
/// and of ranks that share its parts, also through a checkpoint, which does not record those numbers. Not for several
/// threads at once.
///
/// On a device that can record (a GPU, in a StreamScope), the first two steps run op by op and the third is recorded
/// whole, with update and random offsets; later steps copy their batch and replay it, with the same bits. A batch in
/// parts is still one step. Of a step that several ranks share, each one's passes are recorded, and sums and update
/// follow op by op. Steps run op by op if `on_phase` watches them, or a batch has another shape or a part without a
/// scored target; so do all steps of an objective that reads numbers from the device: `note` then says so once.
class Trainer {
 public:
  /// A model's forward pass, for any Module: its input (of a Batch) and what a pass gets besides → what loss() takes.
  using Forward = std::function<Var(const Tensor& input, const models::ForwardContext& context)>;
  /// Binds the model's parameters to an arena on the device; model and objective must outlive the trainer. `rng`
  /// continues from drawing the weights. Throws Error for settings out of range, if a pattern in decay or no_decay
  /// matches no parameter, and if another trainer has the model.
  Trainer(const models::Transformer& model, const Objective& objective, const TrainerConfig& config, engine::Rng rng);
  /// The same for a model of your own: `forward` runs it, and objective.loss() takes the result as it is.
  Trainer(const models::Module& model, Forward forward, const Objective& objective, const TrainerConfig& config,
          engine::Rng rng);
  Trainer(const models::Transformer&&, const Objective&, const TrainerConfig&, engine::Rng) = delete;  ///< a temporary
  Trainer(const models::Transformer&, const Objective&&, const TrainerConfig&, engine::Rng) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Runs one step on the objective's sequences for it. The parts' gradients, weighted by their share of scored
  /// targets, add up in order (those of `accumulate`) or along a tree. With ranks, all must call it; an Error on
  /// another rank names that rank, and this training must then not be used again. If the loss or the gradient norm is
  /// not finite, weights and moments stay unchanged. Calls `on_phase` at the end of each phase. Returns state().
  const engine::StepState& step(const std::function<void(Phase)>& on_phase = {});
  /// A batch's forward pass and loss, as in a step.
  Var loss(const Batch& batch);
  /// The step's state as the host last read it: after the latest step with read_every = 1.
  const engine::StepState& state() const { return state_; }
  /// The same, read now.
  const engine::StepState& read_state();
  /// True if steps are already replayed.
  bool is_recorded() const { return recorded_.is_recorded(); }
  int64_t steps_done() const { return steps_done_; }
  /// Statistics of the recorded steps' own pool, which is not the device's; zeros if there is none.
  engine::AllocatorStats step_memory() const { return recorded_.memory(); }
  /// The optimizer's weights, under the model's names and in its order: views.
  models::NamedTensors weights() const;
  /// Reports a validation error to schedules that use one.
  void observe(double error);

  /// Everything a step changes: weights (names after "model."), moments ("optimizer."), streams, schedule.
  Checkpoint checkpoint() const;
  /// Throws Error naming anything that does not fit, without changing anything.
  void restore(const Checkpoint& checkpoint);
  /// The same in one file, which appears whole or not at all.
  void save(const std::filesystem::path& path) const { save_checkpoint(path, "", checkpoint()); }
  void load(const std::filesystem::path& path) { restore(read(path, "")); }
  /// Loads that owner's checkpoint from a file to resume from (load_to_go_on()).
  Checkpoint read(const std::filesystem::path& path, const std::string& owner) const;
  /// load() if there is such a file, else nothing. Returns steps_done(), where the loop over steps starts.
  int64_t resume(const std::filesystem::path& path);

 private:
  void plan_rates();
  /// Copies the shares of a batch's parts to the device.
  void write_shares(const std::vector<double>& shares);
  /// Tells the device how many random numbers a step draws.
  void set_draws(uint64_t count);
  /// Forward and backward pass of part i of `parts` of a batch. Returns its share of the loss, ().
  Tensor run_part(const Batch& batch, size_t parts, size_t i, const std::function<void(Phase)>& done,
                  const Var::Finished& finished = {});
  /// What the passes of a rank's parts leave besides the sum of their gradients.
  struct OwnParts {
    std::vector<engine::Tensor> losses;
    uint64_t drawn = 0;      ///< by a part: all draw as many, except those without a scored target, which draw none
    bool is_summed = false;  ///< over all ranks, too
  };
  /// Runs those parts of a batch that are this rank's, adding their gradients along the tree.
  OwnParts run_own_parts(const Batch& batch, const std::vector<double>& shares, const std::function<void(Phase)>& done);
  /// Adds up what all ranks' parts have left.
  void sum_parts(OwnParts own);
  void begin_step(const engine::Tensor& state);
  void end_step(const engine::Tensor& state, uint64_t random_start, const std::function<void(Phase)>& done);
  void run_step(const Batch& batch, const std::vector<double>& shares, const std::function<void(Phase)>& on_phase);
  /// A step as one recording.
  void record_step(const Batch& batch, const std::vector<double>& shares);
  /// With other ranks, whose communication cannot be recorded: the passes as a recording, and sums and update behind
  /// it.
  void record_own_parts(const Batch& batch, const std::vector<double>& shares);

  using LossOf = std::function<Var(const Batch& batch, const models::ForwardContext& context)>;
  Trainer(const models::Module& model, const Objective& objective, LossOf loss_of, const TrainerConfig& config,
          engine::Rng rng);

  const models::Module& model_;
  const Objective& objective_;
  const LossOf loss_of_;
  const TrainerConfig config_;
  engine::Rng rng_;
  const autograd::ParameterArena arena_;
  const std::unique_ptr<autograd::Optimizer> optimizer_;
  const std::unique_ptr<autograd::Schedule> schedule_;
  const TreeSum sum_;
  const std::vector<Bucket> buckets_;
  engine::Tensor rates_;   ///< f64 (read_every), on the device: learning rates of the steps before rates_end_
  int64_t rates_end_ = 0;  ///< the first step without a rate
  engine::Tensor shares_;  ///< f64 (accumulate or parts), on the device: factor of each part's loss
  std::vector<double> shares_there_;
  OwnParts recorded_parts_;
  uint64_t recorded_draws_ = 0;  ///< random numbers per step of the recording's shape
  int64_t steps_done_ = 0;
  engine::StepState state_;
  RecordedStep recorded_;
};

/// "loss is not finite" or "gradient is not finite" after a step that changed nothing, else null.
const char* problem_of(const engine::StepState& state);

}  // namespace headroom::tasks
