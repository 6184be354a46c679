#pragma once
#include <map>
#include <memory>
#include <string>

#include "autograd/optim/arena.h"

namespace headroom::autograd {

/// Settings of every optimizer; each reads its own.
struct OptimizerConfig {
  std::string kind = "adamw";  ///< sgd | adam | adamw
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;  ///< Kingma & Ba, 2015
  double weight_decay = 0.0;  ///< adamw: decoupled (Loshchilov & Hutter, 2019); sgd, adam: added to the gradient
  double momentum = 0.0;      ///< sgd
  bool nesterov = false;      ///< sgd
};

/// One fused pass over an arena per step. State (moments, step count) is named tensors, for checkpoints.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates the arena's values from its gradients with learning rate `lr`; the arithmetic is PyTorch's.
  virtual void step(double lr) = 0;
  virtual std::map<std::string, Tensor> state() const = 0;
  virtual void load_state(const std::map<std::string, Tensor>& state) = 0;
  virtual std::string describe() const = 0;
};

/// Throws Error for an unknown kind or a value out of range, naming the field.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, ParameterArena& arena);

}  // namespace headroom::autograd
