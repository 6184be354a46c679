#include "autograd/optim/optimizer.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/optim/update.h"

namespace headroom::autograd {
namespace {

/// A state tensor of that shape. Throws Error naming one that is missing.
const Tensor& entry(const std::map<std::string, Tensor>& state, const std::string& name, const Shape& shape) {
  const auto found = state.find(name);
  require(found != state.end(), "optimizer state: no '{}'", name);
  require(found->second.shape() == shape, "optimizer state: '{}' is {}, expected {}", name, found->second, shape);
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
                       config_.beta1, config_.beta2, config_.eps, config_.weight_decay, arena_.decayed_size(),
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
                       config_.nesterov ? " nesterov" : "", config_.weight_decay, arena_.decayed_size(), arena_.size());
  }

 private:
  OptimizerConfig config_;
};

/// A run of elements of the arena: one matrix that Muon turns, or neighbours that AdamW updates.
struct Part {
  int64_t begin = 0, end = 0, rows = 0;  ///< rows 0: AdamW's
};

/// The arena's parameters in order.
std::vector<Part> parts_of(const ParameterArena& arena, const std::vector<std::string>& own_patterns) {
  static const std::vector<std::string> ends{"tokens.*", "positions", "input.*", "readout.*"};
  const std::vector<std::string>& patterns = own_patterns.empty() ? ends : own_patterns;
  std::vector<bool> is_used(patterns.size(), false);
  std::vector<Part> parts;
  int64_t offset = 0;
  for (const Parameter& parameter : arena.parameters()) {
    const Shape shape = parameter.var.shape();
    bool is_named = false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (fnmatch(patterns[i].c_str(), parameter.name.c_str(), 0) != 0) continue;
      is_named = is_used[i] = true;
    }
    const bool is_turned = !is_named && shape.rank() == 2 && shape.numel() > 0;
    if (!is_turned && !parts.empty() && parts.back().rows == 0) parts.back().end += shape.numel();
    else parts.push_back({offset, offset + shape.numel(), is_turned ? shape[0] : 0});
    offset += shape.numel();
  }
  for (size_t i = 0; i < own_patterns.size(); ++i)
    require(is_used[i], "optimizer.adamw_matrices: '{}' matches no parameter; there is {} and {} more", patterns[i],
            arena.parameters().front().name, arena.parameters().size() - 1);
  return parts;
}

/// Matrices by Muon, everything else by AdamW; both keep their means in one array.
class Muon final : public Optimizer {
 public:
  Muon(const OptimizerConfig& config, const ParameterArena& arena)
      : Optimizer(arena), config_(config), parts_(parts_of(arena, config.adamw_matrices)) {
    require(arena.device().is_cpu(),
            "optimizer.kind: muon has no kernels for {} yet: its products would have to be recorded with the step",
            arena.device());
    moments_["mean"] = zeros_like(arena.values());
    moments_["square"] = zeros_like(arena.values());
  }

  void update() override {
    const Tensor& gradients = arena_.gradients();
    for (const Part& part : parts_) {
      const auto of = [&](const Tensor& flat) { return flat.defined() ? flat.slice(0, part.begin, part.end) : flat; };
      const Tensor values = of(arena_.values()), grads = of(gradients), copies = of(arena_.copies());
      const int64_t decayed = std::clamp<int64_t>(arena_.decayed() - part.begin, 0, part.end - part.begin);
      if (part.rows > 0) {
        engine::muon_inplace(values, grads, of(moments_["mean"]), copies,
                             {.rows = part.rows,
                              .momentum = config_.momentum,
                              .nesterov = config_.nesterov,
                              .decoupled_decay = decayed > 0 ? config_.weight_decay : 0},
                             step_state());
      } else {
        engine::adam_inplace(values, grads, of(moments_["mean"]), of(moments_["square"]), copies,
                             {.beta1 = config_.beta1,
                              .beta2 = config_.beta2,
                              .eps = config_.eps,
                              .decoupled_decay = config_.weight_decay,
                              .decayed = decayed,
                              .rate = config_.adamw_lr / config_.lr},
                             step_state());
      }
    }
  }

  std::string describe() const override {
    int64_t matrices = 0, turned = 0;
    for (const Part& part : parts_)
      if (part.rows > 0) ++matrices, turned += part.end - part.begin;
    return fmt::format("muon lr {} momentum {}{} on {} matrices of {} parameters, adamw lr {} on {}, decay {} on {}",
                       config_.lr, config_.momentum, config_.nesterov ? " nesterov" : "", matrices, turned,
                       config_.adamw_lr, arena_.size() - turned, config_.weight_decay, arena_.decayed_size());
  }

 private:
  OptimizerConfig config_;
  std::vector<Part> parts_;
};

void check(const OptimizerConfig& c) {
  require(c.lr > 0 && std::isfinite(c.lr), "optimizer.lr: {} is not a positive number", c.lr);
  require(c.beta1 >= 0 && c.beta1 < 1, "optimizer.beta1: {} is not in [0, 1)", c.beta1);
  require(c.beta2 >= 0 && c.beta2 < 1, "optimizer.beta2: {} is not in [0, 1)", c.beta2);
  require(c.eps > 0 && std::isfinite(c.eps), "optimizer.eps: {} is not a positive number", c.eps);
  require(c.weight_decay >= 0 && std::isfinite(c.weight_decay), "optimizer.weight_decay: {} is negative",
          c.weight_decay);
  require(c.momentum >= 0 && c.momentum < 1, "optimizer.momentum: {} is not in [0, 1)", c.momentum);
  require(c.adamw_lr > 0 && std::isfinite(c.adamw_lr), "optimizer.adamw_lr: {} is not a positive number", c.adamw_lr);
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
  for (const auto& [name, moment] : moments_) state[name] = arena_.packed(moment);
  return state;
}

void Optimizer::load_state(const std::map<std::string, Tensor>& state) {
  engine::StepState values = engine::read_step_state(step_state_);
  values.updates = static_cast<int64_t>(entry(state, "steps", {}).item());
  require(values.updates >= 0, "optimizer state: {} updates done", values.updates);
  for (const auto& [name, moment] : moments_) {
    const Tensor& kept = entry(state, name, {arena_.size()});
    require(kept.dtype() == moment.dtype(), "optimizer state: '{}' is {}, expected {}", name, kept, moment);
  }
  for (const auto& [name, moment] : moments_) arena_.unpack_inplace(moment, state.at(name));
  engine::write_step_state(step_state_, values);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const ParameterArena& arena) {
  check(config);
  if (config.kind == "adam" || config.kind == "adamw") return std::make_unique<Adam>(config, arena);
  if (config.kind == "sgd") return std::make_unique<Sgd>(config, arena);
  if (config.kind == "muon") return std::make_unique<Muon>(config, arena);
  fail("optimizer.kind: unknown '{}'; known: sgd, adam, adamw, muon", config.kind);
}

}  // namespace headroom::autograd
