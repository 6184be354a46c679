#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autograd/optim/arena.h"

namespace headroom::autograd {

/// Settings for all optimizers; each reads its own.
struct OptimizerConfig {
  std::string kind = "adamw";                     ///< sgd | adam | adamw | muon
  double lr = 1e-3;                               ///< muon: for the matrices
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< Kingma & Ba, 2015
  double weight_decay = 0.0;  ///< adamw, muon: decoupled (Loshchilov & Hutter, 2019); sgd, adam: added to the gradient
  double momentum = 0.0;      ///< sgd, muon
  bool nesterov = false;      ///< sgd, muon
  double adamw_lr = 1e-3;     ///< muon: for the parameters that AdamW updates, with beta1, beta2 and eps
  /// muon: name patterns of matrices that AdamW updates, besides everything that is not a matrix; none: those at a
  /// model's ends, "tokens.*", "positions", "input.*" and "readout.*".
  std::vector<std::string> adamw_matrices{};
};

/// One fused pass over an arena per step, with PyTorch's arithmetic. Per-step values come from step_state()
/// (engine/optim/step_state.h), on the arena's device. It holds the arena, which may be a temporary. Threads: one at a
/// time; optimizers with separate arenas are independent.
class Optimizer {
 public:
  explicit Optimizer(ParameterArena arena);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates the arena's values from its gradients with the state's learning rate and gradient factor; does nothing if
  /// is_finite is 0. Neither begins nor ends the step: a Trainer does.
  virtual void update() = 0;
  /// Runs a whole step: begins it with learning rate `lr`, clips to `max_norm` if that is above 0, updates, ends it.
  /// Throws Error for a learning rate that is not finite or below 0, and a norm that is NaN or below 0. With a
  /// `max_norm`, throws Error if the gradient's norm is not finite: the step counts, but the parameters stay unchanged.
  /// Without one the norm is not measured, and non-finite gradients reach the parameters.
  void step(double lr, double max_norm = 0);

  /// The arena it updates.
  const ParameterArena& arena() const { return arena_; }
  /// The StepState, u8 (72).
  const Tensor& step_state() const { return step_state_; }
  /// Copies of the moments, in the arena's order of parameters, and the number of updates: for checkpoints.
  std::map<std::string, Tensor> state() const;
  /// Throws Error naming anything missing or of another shape or dtype, without changing anything.
  void load_state(const std::map<std::string, Tensor>& state);
  virtual std::string describe() const = 0;

 protected:
  const ParameterArena arena_;
  std::map<std::string, Tensor> moments_;  ///< each (N), from 0

 private:
  Tensor step_state_;
};

/// Throws Error for an unknown kind or a value out of range, naming the field.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const ParameterArena& arena);

}  // namespace headroom::autograd
