#include "autograd/optim/optimizer.h"

#include <cmath>

#include "engine/error.h"
#include "engine/optim/update.h"

namespace headroom::autograd {
namespace {

Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype()); }

/// A state tensor of the arena's size, or an Error that names what is missing.
const Tensor& entry(const std::map<std::string, Tensor>& state, const char* name, const Shape& shape) {
  const auto found = state.find(name);
  require(found != state.end(), "optimizer state: no '{}'", name);
  require(found->second.shape() == shape, "optimizer state: '{}' is {}, want {}", name, found->second.str(),
          shape.str());
  return found->second;
}

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerConfig& config, ParameterArena& arena)
      : config_(config), arena_(arena), mean_(zeros_like(arena.values())), square_(zeros_like(arena.values())) {}

  void step(double lr) override {
    const bool decoupled = config_.kind == "adamw";
    engine::adam_inplace(arena_.values(), arena_.gradients(), mean_, square_,
                         {lr, config_.beta1, config_.beta2, config_.eps, ++steps_},
                         decoupled ? config_.weight_decay : 0, decoupled ? 0 : config_.weight_decay, arena_.decayed());
  }

  std::map<std::string, Tensor> state() const override {
    return {{"mean", mean_.clone()}, {"square", square_.clone()}, {"steps", Tensor::from<int64_t>({}, {steps_})}};
  }

  void load_state(const std::map<std::string, Tensor>& state) override {
    engine::copy_inplace(mean_, entry(state, "mean", mean_.shape()));
    engine::copy_inplace(square_, entry(state, "square", square_.shape()));
    steps_ = static_cast<int64_t>(entry(state, "steps", {}).item());
  }

  std::string describe() const override {
    return fmt::format("{} lr {} betas ({}, {}) eps {} decay {} on {} of {} parameters", config_.kind, config_.lr,
                       config_.beta1, config_.beta2, config_.eps, config_.weight_decay, arena_.decayed(),
                       arena_.size());
  }

 private:
  OptimizerConfig config_;
  ParameterArena& arena_;
  Tensor mean_, square_;
  int64_t steps_ = 0;
};

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerConfig& config, ParameterArena& arena) : config_(config), arena_(arena) {
    if (config.momentum > 0) momentum_ = zeros_like(arena.values());
  }

  void step(double lr) override {
    engine::sgd_inplace(arena_.values(), arena_.gradients(), momentum_,
                        {lr, config_.momentum, config_.nesterov, steps_++ == 0}, config_.weight_decay,
                        arena_.decayed());
  }

  std::map<std::string, Tensor> state() const override {
    std::map<std::string, Tensor> state{{"steps", Tensor::from<int64_t>({}, {steps_})}};
    if (momentum_.defined()) state["momentum"] = momentum_.clone();
    return state;
  }

  void load_state(const std::map<std::string, Tensor>& state) override {
    if (momentum_.defined()) engine::copy_inplace(momentum_, entry(state, "momentum", momentum_.shape()));
    steps_ = static_cast<int64_t>(entry(state, "steps", {}).item());
  }

  std::string describe() const override {
    return fmt::format("sgd lr {} momentum {}{} decay {} on {} of {} parameters", config_.lr, config_.momentum,
                       config_.nesterov ? " nesterov" : "", config_.weight_decay, arena_.decayed(), arena_.size());
  }

 private:
  OptimizerConfig config_;
  ParameterArena& arena_;
  Tensor momentum_;
  int64_t steps_ = 0;
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

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, ParameterArena& arena) {
  check(config);
  if (config.kind == "adam" || config.kind == "adamw") return std::make_unique<Adam>(config, arena);
  if (config.kind == "sgd") return std::make_unique<Sgd>(config, arena);
  fail("optimizer.kind: unknown '{}'; known: sgd, adam, adamw", config.kind);
}

}  // namespace headroom::autograd
