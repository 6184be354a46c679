#include "experiments/studies/run/known_heads.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

namespace headroom::experiments {
namespace {

using nlohmann::json;

constexpr const char* no_weights = R"("weights":"")";

/// A head of a trained model without the hash of its weights, and that hash.
struct TrainedHead {
  std::string name, weights;
};

std::optional<TrainedHead> head_of_run(const json& task) {
  const auto head = task.find("head");
  if (head == task.end() || !head->is_object() || head->value("kind", json()) != "trained") return std::nullopt;
  const json weights = head->value("weights", json());
  if (!weights.is_string()) return std::nullopt;
  json rest = *head;
  rest.erase("weights");
  return TrainedHead{rest.dump(), weights.get<std::string>()};
}

/// Head → hash of the weights that the stored trials were computed from.
std::unordered_map<std::string, std::string> stored_heads(const RunStore& store) {
  std::unordered_map<std::string, std::string> weights;
  std::unordered_map<std::string, double> ended;
  store.each_outcome([&](TrialRecord&& trial) {
    const json config = json::parse(trial.config, nullptr, false);
    if (trial.status != TrialStatus::finished || !config.is_object() || !config.contains("task")) return;
    const auto head = head_of_run(config["task"]);
    if (!head || head->weights.empty()) return;
    const auto [last, is_first] = ended.try_emplace(head->name, trial.ended);
    if (!is_first && last->second >= trial.ended) return;
    last->second = trial.ended;
    weights[head->name] = head->weights;
  });
  return weights;
}

}  // namespace

void find_known_heads(Study& study, const RunStore& store) {
  std::optional<std::unordered_map<std::string, std::string>> known;
  for (auto* trials : {&study.trials, &study.later})
    for (PlannedTrial& trial : *trials) {
      std::string& record = trial.config.task_record;
      const size_t at = record.find(no_weights);
      if (at == std::string::npos) continue;
      const auto head = head_of_run(json::parse(record, nullptr, false));
      if (!head || !head->weights.empty()) continue;
      if (!known) known = stored_heads(store);
      const auto found = known->find(head->name);
      if (found == known->end()) continue;
      record.replace(at, std::string(no_weights).size(), R"("weights":")" + found->second + "\"");
      trial.id = trial_id(trial.config);
    }
}

}  // namespace headroom::experiments
