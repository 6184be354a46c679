#include "tasks/distillation/stages.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>

#include "engine/context.h"
#include "engine/error.h"
#include "tasks/data/sha256.h"
#include "tasks/training/trainer.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

/// The one of a stage, for all threads of the process.
std::shared_ptr<std::mutex> mutex_of(const std::string& name) {
  static std::mutex finding;
  static std::map<std::string, std::weak_ptr<std::mutex>> all;
  const std::lock_guard lock(finding);
  auto found = all[name].lock();
  if (!found) all[name] = found = std::make_shared<std::mutex>();
  return found;
}

Checkpoint checkpoint_of(const StageResult& result) {
  Checkpoint checkpoint;
  checkpoint.tensors = result.tensors;
  nlohmann::json metrics = nlohmann::json::object();
  for (const auto& [name, value] : result.metrics) metrics[name] = value;
  checkpoint.more = nlohmann::json{{"metrics", metrics}}.dump();
  return checkpoint;
}

}  // namespace

std::shared_ptr<const StageResult> Stages::read(const fs::path& file, const std::string& what) const {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return nullptr;
  try {
    const Checkpoint checkpoint = load_checkpoint(file, what);
    auto result = std::make_shared<StageResult>();
    result->tensors = checkpoint.tensors;
    const nlohmann::json metrics = nlohmann::json::parse(checkpoint.more).at("metrics");
    for (const auto& [name, value] : metrics.items()) result->metrics[name] = value.get<double>();
    return result;
  } catch (const std::exception&) {
    return nullptr;  // cut short, or of other words that hash alike
  }
}

std::shared_ptr<const StageResult> Stages::get(const std::string& what, const Make& make) {
  if (const auto known = known_.find(what); known != known_.end()) return known->second;
  const std::string key = sha256(what).substr(0, 24);
  const fs::path folder = run_.folder;
  const fs::path file = folder.empty() ? fs::path() : folder / (key + ".safetensors");
  const auto mutex = mutex_of((folder / key).string());
  const std::lock_guard lock(*mutex);
  if (auto found = read(file, what)) return known_[what] = found;
  if (!folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    require(!error, "{}: cannot make the folder: {}", folder.string(), error.message());
  }
  const fs::path unfinished = folder.empty() ? fs::path() : folder / (key + ".unfinished.safetensors");
  const std::optional<StageResult> made = make(unfinished);
  if (!made) return nullptr;
  if (!file.empty()) {
    save_checkpoint(file, what, checkpoint_of(*made));
    std::error_code ignored;
    fs::remove(unfinished, ignored);
  }
  return known_[what] = std::make_shared<const StageResult>(*made);
}

bool train_stage(const models::Transformer& model, const Objective& objective, const StageTraining& training,
                 const fs::path& unfinished, const MeasurementRun& run) {
  using Clock = std::chrono::steady_clock;
  TrainerConfig config = training.trainer;
  config.device = model.device();
  config.note = run.note;
  const engine::StopScope none(nullptr);  // on_step decides when, and finished work is saved
  Trainer trainer(model, objective, config, engine::Rng(training.seed));
  if (!unfinished.empty()) {
    try {
      trainer.resume(unfinished);
    } catch (const Error&) {  // damaged: the training starts over
      require(trainer.steps_done() == 0, "{}: cannot be read", unfinished.string());
    }
  }
  auto saved = Clock::now();
  double loss = std::numeric_limits<double>::quiet_NaN();
  while (trainer.steps_done() < training.steps) {
    if (run.on_step && !run.on_step(trainer.steps_done(), loss)) {
      if (!unfinished.empty()) trainer.save(unfinished);
      return false;
    }
    const engine::StepState& state = trainer.step();
    if (const char* const problem = problem_of(state))
      fail("step {} of {}: {}", trainer.steps_done(), training.steps, problem);
    loss = state.loss;
    if (unfinished.empty() || std::chrono::duration<double>(Clock::now() - saved).count() < run.save_every) continue;
    trainer.save(unfinished);
    saved = Clock::now();
  }
  return true;
}

models::NamedTensors trained_weights(const models::Transformer& model) {
  models::NamedTensors weights;
  for (const models::Parameter& parameter : model.parameters())
    weights.emplace_back(parameter.name, parameter.var.value().to(engine::cpu).clone());
  return weights;
}

}  // namespace headroom::tasks
