#include "tasks/training/resume.h"

#include "engine/cpu/kernel_level.h"
#include "engine/error.h"
#include "engine/optim/step_state.h"

namespace headroom::tasks {
namespace {

constexpr const char* moment_prefix = "optimizer.";

/// The tensors whose names begin with a prefix, without it.
std::map<std::string, engine::Tensor> part_of(const Checkpoint& checkpoint, const std::string& prefix) {
  std::map<std::string, engine::Tensor> part;
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with(prefix)) part[name.substr(prefix.size())] = tensor;
  return part;
}

}  // namespace

Checkpoint checkpoint_of(const autograd::Optimizer& optimizer, const engine::Rng& rng, int64_t step,
                         const autograd::Schedule* schedule) {
  Checkpoint checkpoint;
  for (const auto& [name, tensor] : optimizer.arena().named_values())
    checkpoint.tensors.emplace_back(weight_prefix + name, tensor);
  for (const auto& [name, tensor] : optimizer.state()) checkpoint.tensors.emplace_back(moment_prefix + name, tensor);
  checkpoint.step = step;
  checkpoint.seed = rng.seed();
  checkpoint.streams = rng.offsets();
  if (schedule) checkpoint.schedule = schedule->state();
  if (optimizer.arena().device().is_cpu()) checkpoint.level = engine::kernel_level();
  return checkpoint;
}

int64_t restore(const Checkpoint& checkpoint, autograd::Optimizer& optimizer, engine::Rng& rng,
                autograd::Schedule* schedule) {
  require(checkpoint.step >= 0, "checkpoint: {} steps done", checkpoint.step);
  require(!checkpoint.seed || *checkpoint.seed == rng.seed(),
          "checkpoint: its random streams are of seed {}, not of {}", checkpoint.seed.value_or(0), rng.seed());
  const size_t numbers = schedule ? schedule->state().size() : 0;
  require(checkpoint.schedule.size() == numbers, "checkpoint: the schedule's state has {} numbers, expected {}",
          checkpoint.schedule.size(), numbers);
  const std::map<std::string, engine::Tensor> weights = part_of(checkpoint, weight_prefix);
  const auto values = optimizer.arena().named_values();
  for (const auto& [name, tensor] : values) {
    const auto found = weights.find(name);
    require(found != weights.end(), "checkpoint: no weights '{}'", name);
    require(found->second.shape() == tensor.shape() && found->second.dtype() == tensor.dtype(),
            "checkpoint: weights '{}' are {}, expected {}", name, found->second.str(), tensor.str());
  }
  optimizer.load_state(part_of(checkpoint, moment_prefix));
  for (const auto& [name, tensor] : values) engine::copy_inplace(tensor, weights.at(name).to(tensor.device()));
  optimizer.arena().refresh_copies();
  engine::StepState state = engine::read_step_state(optimizer.step_state());
  state.step = checkpoint.step;
  engine::write_step_state(optimizer.step_state(), state);
  if (schedule) schedule->load_state(checkpoint.schedule);
  rng.set_offsets(checkpoint.streams);
  return checkpoint.step;
}

Checkpoint load_to_go_on(const std::filesystem::path& path, const std::string& owner,
                         const autograd::Optimizer& optimizer) {
  Checkpoint checkpoint = load_checkpoint(path, owner);
  require(!optimizer.arena().device().is_cpu() || engine::may_be_alike(checkpoint.level, engine::kernel_level()),
          "{}: its steps were computed by {}; {} here would give other bits: go on where it was begun, or delete it",
          path.string(), checkpoint.level, engine::kernel_level());
  return checkpoint;
}

void save_training(const std::filesystem::path& path, const autograd::Optimizer& optimizer, const engine::Rng& rng,
                   int64_t step, const autograd::Schedule* schedule) {
  save_checkpoint(path, "", checkpoint_of(optimizer, rng, step, schedule));
}

int64_t resume_training(const std::filesystem::path& path, autograd::Optimizer& optimizer, engine::Rng& rng,
                        autograd::Schedule* schedule) {
  std::error_code error;  // such as a folder that may not be read: loading names it
  if (!std::filesystem::exists(path, error) && !error) return 0;
  return restore(load_to_go_on(path, "", optimizer), optimizer, rng, schedule);
}

}  // namespace headroom::tasks
