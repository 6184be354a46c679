#include "experiments/studies/config/profile_changes.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/studies/claims/value_set.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

bool is_told(const std::string& path, const std::set<std::string>& choices) {
  static const std::set<std::string> follows{"model.head_dim",       "model.qk_dim",         "model.v_dim",
                                             "train.schedule.start", "train.schedule.steps", "train.schedule.warmup"};
  static const std::set<std::string> cadence{"train.eval_every", "train.eval_sequences", "train.log_every",
                                             "train.seed", "seed"};
  return !follows.contains(path) && !cadence.contains(path) && !choices.contains(path) &&
         !path.starts_with("model.groups");
}

void add_values(const Json& node, const std::string& path, const std::set<std::string>& choices,
                std::map<std::string, ValueSet>& values) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items())
      add_values(value, path.empty() ? key : path + "." + key, choices, values);
    return;
  }
  if (node.is_array() && !node.empty() && node[0].is_object()) {  // the parts of a schedule
    for (const Json& part : node) add_values(part, path, choices, values);
    return;
  }
  if (!is_told(path, choices)) return;
  if (node.is_number()) values[path].numbers.insert(node.get<double>());
  else if (!node.is_null()) values[path].words.insert(node.is_string() ? node.get<std::string>() : node.dump());
}

/// One trial at each place in a figure represents all its seeds and choices.
std::map<std::string, ValueSet> values_of(const Study& study, const std::set<std::string>& choices) {
  std::map<std::string, ValueSet> values;
  std::set<std::pair<std::string, double>> seen;
  for (const PlannedTrial& trial : study.trials)
    if (seen.emplace(trial.series, trial.x).second)
      add_values(Json::parse(canonical_json(trial.config)), "", choices, values);
  return values;
}

}  // namespace

std::vector<std::string> profile_changes(const Study& profile, const Study& base) {
  std::set<std::string> choices;
  for (const Study* study : {&profile, &base})
    for (const PlannedTrial& trial : study->trials)
      for (const auto& [key, value] : trial.choice) choices.insert(key);
  const std::map<std::string, ValueSet> own = values_of(profile, choices), others = values_of(base, choices);
  std::vector<std::string> changes;
  for (const auto& [path, values] : own) {
    const auto other = others.find(path);
    if (other == others.end()) changes.push_back(fmt::format("{} {} (none)", path, values.text()));
    else if (other->second != values)
      changes.push_back(fmt::format("{} {} ({})", path, values.text(), other->second.text()));
  }
  for (const auto& [path, values] : others)
    if (!own.contains(path)) changes.push_back(fmt::format("no {} ({})", path, values.text()));
  return changes;
}

}  // namespace headroom::experiments
