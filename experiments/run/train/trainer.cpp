#include "experiments/run/train/trainer.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "engine/error.h"
#include "experiments/run/trial.h"

namespace headroom::experiments {
namespace {

using autograd::Var;

constexpr const char* weight_prefix = "model.";
constexpr const char* moment_prefix = "optimizer.";

/// Sets `decays` of the parameters whose names match one of the patterns.
void decide(std::vector<autograd::ArenaEntry>& entries, const std::vector<std::string>& patterns, const char* key,
            bool decays) {
  for (const std::string& pattern : patterns) {
    bool is_used = false;
    for (autograd::ArenaEntry& entry : entries) {
      if (fnmatch(pattern.c_str(), entry.name.c_str(), 0) != 0) continue;
      entry.decays = decays;
      is_used = true;
    }
    require(is_used, "train.optimizer.{}: '{}' matches no parameter; there is {} and {} more", key, pattern,
            entries.front().name, entries.size() - 1);
  }
}

autograd::ParameterArena arena_of(const models::Transformer& model, const TrainConfig& train) {
  std::vector<autograd::ArenaEntry> entries;
  for (const models::Parameter& parameter : model.parameters())
    entries.push_back({parameter.name, parameter.var, parameter.decays});
  decide(entries, train.decay, "decay", true);
  decide(entries, train.no_decay, "no_decay", false);
  return autograd::ParameterArena(std::move(entries));
}

/// Targets that count in a batch's loss: classes that are not ignored; else sequences.
double scored(const tasks::Batch& batch) {
  if (batch.target.dtype() != engine::DType::i64) return static_cast<double>(batch.target.dim(0));
  const engine::Tensor target = batch.target.contiguous();  // (B, T) or (B)
  const auto* classes = target.data<int64_t>();
  const int64_t ignored = std::count(classes, classes + target.numel(), tasks::ignore_index);
  return static_cast<double>(target.numel() - ignored);
}

}  // namespace

Trainer::Trainer(const TrialConfig& config, const tasks::Task& task)
    : train_(config.train),
      task_(task),
      rng_(static_cast<uint64_t>(config.seed)),
      model_(model_for(config, task), rng_),
      arena_(arena_of(model_, train_)),
      optimizer_(autograd::make_optimizer(train_.optimizer, arena_)),
      schedule_(autograd::make_schedule(train_.schedule)) {}

Trainer::Update Trainer::update(int64_t step, PhaseTimer* timer) {
  const tasks::Batch batch = task_.train_batch(step, train_.batch, rng_);
  const int64_t sequences = batch.input.dim(0);
  const int64_t part_size = (sequences + train_.accumulate - 1) / train_.accumulate;
  const double all = train_.accumulate > 1 ? scored(batch) : 1;
  Update update;
  arena_.zero_grad();
  if (timer) timer->begin();
  for (int64_t begin = 0; begin < sequences; begin += part_size) {
    const bool is_whole = part_size >= sequences;
    const tasks::Batch part = is_whole ? batch : batch.slice(begin, std::min(sequences, begin + part_size));
    const double share = is_whole ? 1 : scored(part) / all;
    if (share == 0) continue;
    const Var output =
        model_.forward(part.input, {.training = true, .rng = &rng_, .key_mask = part.key_mask});  // (B, T, output_dim)
    const Var loss = is_whole ? task_.loss(output, part) : autograd::scale(task_.loss(output, part), share);
    update.loss += loss.value().item();
    if (timer) timer->end(Phase::forward);
    if (!std::isfinite(update.loss)) break;
    loss.backward();
    if (timer) timer->end(Phase::backward);
  }
  if (!std::isfinite(update.loss)) {
    update.problem = "loss is not finite";
    return update;
  }
  update.gradient_norm = train_.clip > 0 ? arena_.clip_gradient_norm(train_.clip) : arena_.gradient_norm();
  if (!std::isfinite(update.gradient_norm)) {
    update.problem = "gradient is not finite";
    return update;
  }
  optimizer_->step(train_.optimizer.lr * schedule_->factor(step));
  if (timer) timer->end(Phase::update);
  return update;
}

models::NamedTensors Trainer::weights() const {
  models::NamedTensors weights;
  for (const models::Parameter& parameter : model_.parameters())
    weights.emplace_back(parameter.name, parameter.var.value());
  return weights;
}

Checkpoint Trainer::state() const {
  Checkpoint checkpoint;
  for (const auto& [name, tensor] : weights()) checkpoint.tensors.emplace_back(weight_prefix + name, tensor);
  for (const auto& [name, tensor] : optimizer_->state()) checkpoint.tensors.emplace_back(moment_prefix + name, tensor);
  checkpoint.streams = rng_.offsets();
  checkpoint.schedule = schedule_->state();
  return checkpoint;
}

void Trainer::load(const Checkpoint& checkpoint) {
  std::map<std::string, engine::Tensor> weights, moments;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.rfind(weight_prefix, 0) == 0) weights[name.substr(std::string(weight_prefix).size())] = tensor;
    if (name.rfind(moment_prefix, 0) == 0) moments[name.substr(std::string(moment_prefix).size())] = tensor;
  }
  for (const auto& [name, tensor] : this->weights()) {
    const auto found = weights.find(name);
    require(found != weights.end(), "checkpoint: no weights '{}'", name);
    require(found->second.shape() == tensor.shape() && found->second.dtype() == tensor.dtype(),
            "checkpoint: weights '{}' are {}, want {}", name, found->second.str(), tensor.str());
    engine::copy_inplace(tensor, found->second);
  }
  optimizer_->load_state(moments);
  schedule_->load_state(checkpoint.schedule);
  rng_.set_offsets(checkpoint.streams);
}

}  // namespace headroom::experiments
