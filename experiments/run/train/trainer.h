#pragma once
#include <memory>
#include <string>

#include "autograd/optim/arena.h"
#include "autograd/optim/optimizer.h"
#include "autograd/optim/schedule.h"
#include "engine/rng.h"
#include "experiments/config/trial_config.h"
#include "experiments/run/phase_timer.h"
#include "experiments/run/train/checkpoint.h"
#include "models/transformer.h"

namespace headroom::experiments {

/// A model, its optimizer and its random streams: what an update changes.
class Trainer {
 public:
  /// Weights from the seed's stream "init". Throws Error when the model does not fit the task, or when a pattern of
  /// train.optimizer.decay or no_decay matches no parameter.
  Trainer(const TrialConfig& config, const tasks::Task& task);

  /// One update, with the sequences of `step`. The batch may be cut into train.accumulate parts, whose gradients add up
  /// in their order, each weighted by its share of scored targets. A batch that is not cut can be timed.
  struct Update {
    double loss = 0, gradient_norm = 0;
    const char* problem = nullptr;  ///< what is not finite; the weights are then as before
  };
  Update update(int64_t step, PhaseTimer* timer = nullptr);
  /// A validation error, for schedules that listen.
  void observe(double error) { schedule_->observe(error); }

  const models::Transformer& model() const { return model_; }
  /// Views of the parameters under their names: they change with each update.
  models::NamedTensors weights() const;

  /// Weights, moments, streams and schedule; the standing is the caller's.
  Checkpoint state() const;
  /// Throws Error naming what does not fit; some tensors may have been taken over by then.
  void load(const Checkpoint& checkpoint);

 private:
  const TrainConfig& train_;
  const tasks::Task& task_;
  engine::Rng rng_;
  models::Transformer model_;
  autograd::ParameterArena arena_;
  std::unique_ptr<autograd::Optimizer> optimizer_;
  std::unique_ptr<autograd::Schedule> schedule_;
};

}  // namespace headroom::experiments
