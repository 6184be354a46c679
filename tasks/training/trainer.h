#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "engine/optim/step_state.h"
#include "engine/rng.h"
#include "models/transformer.h"
#include "tasks/ranks/overlapped_sum.h"
#include "tasks/ranks/tree_sum.h"
#include "tasks/task.h"
#include "tasks/training/recorded_step.h"
#include "tasks/training/resume.h"
#include "tasks/training/trainer_config.h"

namespace headroom::tasks {

/// What a training step is made of, in this order; forward and backward once for each part of the batch.
enum class Phase { batch, forward, backward, update };

/// Trains a model: batch → loss → backward → clip → optimizer → schedule. What changes from step to step is a StepState
/// on the device, which the host reads every `read_every` steps. The same arguments give the same bits on any number of
/// threads, and of ranks that share its parts, also when the training went through a checkpoint, which does not know
/// how many they were. Not for several threads at once.
///
/// On a device that can record (a GPU, in a StreamScope), two steps run op by op and the third is recorded as a whole,
/// update and random offsets included; from then on a step is a copy of its batch and one replay, which gives the same
/// bits. A batch that is cut into parts is one step all the same. Steps that several ranks share, that are watched by
/// `on_phase`, have a batch of another shape or a part without a scored target run op by op, and so does every step of
/// an objective that reads numbers of the device: `note` says so once.
class Trainer {
 public:
  /// Binds the model's parameters to an arena on the device; the model and the objective must outlive the trainer.
  /// `rng` continues where drawing the weights left it. Throws Error for settings out of range, when a pattern of decay
  /// or no_decay matches no parameter, and when another trainer has the model.
  Trainer(const models::Transformer& model, const Objective& objective, const TrainerConfig& config, engine::Rng rng);
  Trainer(const models::Transformer&&, const Objective&, const TrainerConfig&, engine::Rng) = delete;  ///< a temporary
  Trainer(const models::Transformer&, const Objective&&, const TrainerConfig&, engine::Rng) = delete;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// One step, with the sequences that the objective has for it. The gradients of the parts of a batch add up in their
  /// order (those of `accumulate`) or along a tree, each weighted by its share of scored targets. With ranks all must
  /// call it, and an Error from another's end names that one: this training is then no longer to be used. Where the
  /// loss or the gradient norm is not finite the weights and moments stay as they were. `on_phase` is called at the end
  /// of each phase. Returns state().
  const engine::StepState& step(const std::function<void(Phase)>& on_phase = {});
  /// Forward pass and loss of a batch, as a step does it.
  Var loss(const Batch& batch);
  /// The step's state when the host last read it: after the latest step with read_every = 1.
  const engine::StepState& state() const { return state_; }
  /// The same, read now.
  const engine::StepState& read_state();
  /// Whether steps are replayed by now.
  bool is_recorded() const { return recorded_.is_recorded(); }
  int64_t steps_done() const { return steps_done_; }
  /// Statistics of the recorded steps' own pool, which is not the device's; zeros where there is none.
  engine::AllocatorStats step_memory() const { return recorded_.memory(); }
  /// The weights under the model's names and in its order, as the optimizer holds them: views.
  models::NamedTensors weights() const;
  /// A validation error, for schedules that listen.
  void observe(double error);

  /// Everything that a step changes: weights ("model." before their names), moments ("optimizer."), streams, schedule.
  Checkpoint checkpoint() const;
  /// Throws Error naming what does not fit; nothing is changed then.
  void restore(const Checkpoint& checkpoint);
  /// The same in one file, which appears whole or not at all.
  void save(const std::filesystem::path& path) const { save_checkpoint(path, "", checkpoint()); }
  void load(const std::filesystem::path& path) { restore(read(path, "")); }
  /// The checkpoint in a file, of that owner, to go on from (load_to_go_on()).
  Checkpoint read(const std::filesystem::path& path, const std::string& owner) const;
  /// load() where there is such a file, else nothing. Returns steps_done(): where a loop over the steps begins.
  int64_t resume(const std::filesystem::path& path);

 private:
  void plan_rates();
  /// Brings the shares of a batch's parts to the device.
  void write_shares(const std::vector<double>& shares);
  /// Says to the device how many random numbers a step draws.
  void set_draws(uint64_t count);
  /// Forward and backward pass of part i of `parts` of a batch. Returns its share of the loss, ().
  Tensor run_part(const Batch& batch, size_t parts, size_t i, const std::function<void(Phase)>& done,
                  const Var::Finished& finished = {});
  /// All parts of a batch, over all ranks, their gradients added along the tree.
  void run_tree(const Batch& batch, const std::vector<double>& shares, const std::function<void(Phase)>& done);
  void run_step(const Batch& batch, const std::vector<double>& shares, const std::function<void(Phase)>& on_phase);

  const models::Transformer& model_;
  const Objective& objective_;
  const TrainerConfig config_;
  engine::Rng rng_;
  const autograd::ParameterArena arena_;
  const std::unique_ptr<autograd::Optimizer> optimizer_;
  const std::unique_ptr<autograd::Schedule> schedule_;
  const TreeSum sum_;
  const std::vector<Bucket> buckets_;
  engine::Tensor rates_;   ///< f64 (read_every), on the device: learning rates of the steps up to rates_end_
  int64_t rates_end_ = 0;  ///< the first step that has no rate yet
  engine::Tensor shares_;  ///< f64 (accumulate or parts), on the device: what the loss of each part is multiplied by
  std::vector<double> shares_there_;
  uint64_t recorded_draws_ = 0;  ///< random numbers of a step of the recording's shape
  int64_t steps_done_ = 0;
  engine::StepState state_;
  RecordedStep recorded_;
};

/// "loss is not finite" or "gradient is not finite" after a step that changed nothing, else null.
const char* problem_of(const engine::StepState& state);

}  // namespace headroom::tasks
