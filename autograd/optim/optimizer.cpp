#include "autograd/optim/optimizer.h"

#include <cmath>

#include "engine/error.h"
#include "engine/optim/update.h"

namespace headroom::autograd {
namespace {

/// A state tensor of that shape, or an Error that names what is missing.
const Tensor& entry(const std::map<std::string, Tensor>& state, const std::string& name, const Shape& shape) {
  const auto found = state.find(name);
  require(found != state.end(), "optimizer state: no '{}'", name);
  require(found->second.shape() == shape, "optimizer state: '{}' is {}, want {}", name, found->second.str(),
          shape.str());
  return found->second;
}

Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype(), x.device()); }

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerConfig& config, const ParameterArena& arena) : Optimizer(arena), config_(config) {
    const bool is_decoupled = config.kind == "adamw";
    constants_ = {.beta1 = config.beta1,
                  .beta2 = config.beta2,
                  .eps = config.eps,
                  .decoupled_decay = is_decoupled ? config.weight_decay : 0,
                  .l2_decay = is_decoupled ? 0 : config.weight_decay,
                  .decayed = arena.decayed()};
    moments_["mean"] = zeros_like(arena.values());
    moments_["square"] = zeros_like(arena.values());
  }

  void update() override {
    engine::adam_inplace(arena_.values(), arena_.gradients(), moments_["mean"], moments_["square"], arena_.copies(),
                         constants_, step_state());
  }

  std::string describe() const override {
    return fmt::format("{} lr {} betas ({}, {}) eps {} decay {} on {} of {} parameters", config_.kind, config_.lr,
                       config_.beta1, config_.beta2, config_.eps, config_.weight_decay, arena_.decayed(),
                       arena_.size());
  }

 private:
  OptimizerConfig config_;
  engine::AdamConfig constants_;
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, const ParameterArena& arena) : Optimizer(arena), config_(config) {
    if (config.momentum > 0) moments_["momentum"] = zeros_like(arena.values());
  }

  void update() override {
    const auto momentum = moments_.find("momentum");
    engine::sgd_inplace(arena_.values(), arena_.gradients(), momentum == moments_.end() ? Tensor() : momentum->second,
                        arena_.copies(), {config_.momentum, config_.nesterov, config_.weight_decay, arena_.decayed()},
                        step_state());
  }

  std::string describe() const override {
    return fmt::format("sgd lr {} momentum {}{} decay {} on {} of {} parameters", config_.lr, config_.momentum,
                       config_.nesterov ? " nesterov" : "", config_.weight_decay, arena_.decayed(), arena_.size());
  }

 private:
  OptimizerConfig config_;
};

void check(const OptimizerConfig& c) {
  require(c.lr > 0 && std::isfinite(c.lr), "optimizer.lr: {} is not a positive number", c.lr);
  require(c.beta1 >= 0 && c.beta1 < 1, "optimizer.beta1: {} is not in [0, 1)", c.beta1);
  require(c.beta2 >= 0 && c.beta2 < 1, "optimizer.beta2: {} is not in [0, 1)", c.beta2);
  require(c.eps > 0 && std::isfinite(c.eps), "optimizer.eps: {} is not a positive number", c.eps);
  require(c.weight_decay >= 0 && std::isfinite(c.weight_decay), "optimizer.weight_decay: {} is negative",
          c.weight_decay);
  require(c.momentum >= 0 && c.momentum < 1, "optimizer.momentum: {} is not in [0, 1)", c.momentum);
  require(!c.nesterov || c.momentum > 0, "optimizer.nesterov: needs a momentum above 0");
}

}  // namespace

Optimizer::Optimizer(ParameterArena arena)
    : arena_(std::move(arena)), step_state_(engine::make_step_state(arena_.device())) {}

void Optimizer::step(double lr, double max_norm) {
  require(std::isfinite(lr) && lr >= 0, "optimizer: a learning rate of {}", lr);
  require(max_norm >= 0, "optimizer: gradients clipped to a norm of {}", max_norm);
  engine::step_begin_inplace(step_state_, Tensor::full({1}, lr, engine::DType::f64, arena_.device()));
  if (max_norm > 0) engine::step_norm_inplace(step_state_, arena_.gradients(), max_norm);
  update();
  engine::step_end_inplace(step_state_);
  if (max_norm > 0) {
    const engine::StepState state = engine::read_step_state(step_state_);
    require(state.is_finite, "optimizer: the gradient norm is {}; the parameters stay as they are",
            state.gradient_norm);
  }
}

std::map<std::string, Tensor> Optimizer::state() const {
  std::map<std::string, Tensor> state{
      {"steps", Tensor::from<int64_t>({}, {engine::read_step_state(step_state_).updates})}};
  for (const auto& [name, moment] : moments_) state[name] = moment.clone();
  return state;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& state) {
  engine::StepState values = engine::read_step_state(step_state_);
  values.updates = static_cast<int64_t>(entry(state, "steps", {}).item());
  require(values.updates >= 0, "optimizer state: {} updates done", values.updates);
  for (const auto& [name, moment] : moments_) {
    const Tensor& kept = entry(state, name, moment.shape());
    require(kept.dtype() == moment.dtype(), "optimizer state: '{}' is {}, want {}", name, kept.str(), moment.str());
  }
  for (const auto& [name, moment] : moments_) engine::copy_inplace(moment, state.at(name).to(moment.device()));
  engine::write_step_state(step_state_, values);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const ParameterArena& arena) {
  check(config);
  if (config.kind == "adam" || config.kind == "adamw") return std::make_unique<Adam>(config, arena);
  if (config.kind == "sgd") return std::make_unique<Sgd>(config, arena);
  fail("optimizer.kind: unknown '{}'; known: sgd, adam, adamw", config.kind);
}

}  // namespace headroom::autograd
