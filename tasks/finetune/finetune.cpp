#include "tasks/finetune/finetune.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/excerpt.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

constexpr const char* finetune_key = "finetune";

json json_of_step(const FinetuneStep& s) {
  return {s.step, s.loss, s.gradient_norm, s.learning_rate, s.tokens, s.seconds};
}

FinetuneStep step_of(const json& row) {
  return {row.at(0).get<int64_t>(), row.at(1).get<double>(),  row.at(2).get<double>(),
          row.at(3).get<double>(),  row.at(4).get<int64_t>(), row.at(5).get<double>()};
}

}  // namespace

Finetuning::Finetuning(Trainer& trainer, std::filesystem::path file, FinetuneSettings settings)
    : trainer_(trainer), file_(std::move(file)), settings_(std::move(settings)) {}

bool Finetuning::resume() {
  std::error_code error;  // such as a folder that may not be read: loading names it
  if (file_.empty() || (!std::filesystem::exists(file_, error) && !error)) return false;
  const Checkpoint checkpoint = trainer_.read(file_, "");
  try {
    const json own = json::parse(checkpoint.more).at(finetune_key);
    for (const auto& [name, value] : settings_) {
      const auto found = own.at("settings").find(name);
      const std::string theirs = found == own.at("settings").end() ? "nothing" : found->get<std::string>();
      require(theirs == value, "{}: is of a training with {} {}, this one has {}", file_.string(), name,
              excerpt(theirs, 80), excerpt(value, 80));
    }
    for (const auto& [name, value] : own.at("before").items()) before[name] = value.get<double>();
    for (const json& row : own.at("log")) log_.push_back(step_of(row));
  } catch (const json::exception& problem) {
    fail("{}: is no checkpoint of a fine-tuning: {}", file_.string(), plain_words(problem.what()));
  }
  trainer_.restore(checkpoint);
  return true;
}

void Finetuning::save() const {
  Checkpoint checkpoint = trainer_.checkpoint();
  json settings = json::object(), log = json::array();
  for (const auto& [name, value] : settings_) settings[name] = value;
  for (const FinetuneStep& step : log_) log.push_back(json_of_step(step));
  checkpoint.more = json{{finetune_key, {{"settings", settings}, {"before", before}, {"log", log}}}}.dump();
  save_checkpoint(file_, "", checkpoint);
}

bool Finetuning::run(int64_t steps, int64_t save_every, const std::function<int64_t(int64_t)>& tokens_of,
                     const std::function<void(const FinetuneStep&)>& on_step, const std::function<bool()>& goes_on) {
  const bool saves = save_every > 0 && !file_.empty();
  while (trainer_.steps_done() < steps) {
    if (!goes_on()) {
      if (saves) save();
      return false;
    }
    const auto start = std::chrono::steady_clock::now();
    const int64_t tokens = tokens_of(trainer_.steps_done());
    const engine::StepState& state = trainer_.step();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const int64_t done = trainer_.steps_done();
    if (const char* problem = problem_of(state)) fail("step {}: {}: a smaller --lr may help", done, problem);
    log_.push_back({done, state.loss, state.gradient_norm, state.learning_rate, tokens, seconds});
    on_step(log_.back());
    if (saves && (done % save_every == 0 || done == steps)) save();
  }
  return true;
}

}  // namespace headroom::tasks
