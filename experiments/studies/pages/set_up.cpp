#include "experiments/studies/pages/set_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/claims/value_set.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// The configs of all trials that train a model, each once.
std::vector<Json> training_configs(const StudyResults& r) {
  std::set<std::string> texts;
  for (const TrialRecord& t : r.trials) texts.insert(t.config);
  std::vector<Json> configs;
  for (const std::string& text : texts) {
    Json config = Json::parse(text, nullptr, false);
    if (config.is_object() && config.contains("train") && config.contains("model"))
      configs.push_back(std::move(config));
  }
  return configs;
}

ValueSet values_of(const std::vector<Json>& configs, const std::string& path) {
  const Json::json_pointer pointer(path);
  ValueSet values;
  for (const Json& config : configs) {
    if (!config.contains(pointer)) continue;
    const Json& value = config.at(pointer);
    if (value.is_number()) values.numbers.insert(value.get<double>());
    else if (value.is_string()) values.words.insert(value.get<std::string>());
  }
  return values;
}

/// "1 layer", "2, 3 layers".
std::string with_noun(const ValueSet& values, const std::string& noun) {
  return values.text() == "1" ? "1 " + noun : fmt::format("{} {}s", values.text(), noun);
}

/// "heads 1, 2, 4 of D 64", or "every heads of D 64" where those are all.
std::string place(const StudyResults& r, const std::string& series, const std::vector<std::string>& xs, size_t all) {
  const std::string axis = last_part(r.report.x_key);
  const std::string where = xs.size() == all ? "every " + axis : fmt::format("{} {}", axis, fmt::join(xs, ", "));
  return series.empty() ? where : where + " of " + series;
}

/// Where one value alone of a swept key was tried at every x: "one lr for every heads: D 256".
std::string singles_of(const Analysis& r) {
  std::map<std::string, std::vector<std::string>> by_key;  // → series
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::set<double>> values;
    for (const Point& p : r.curve(series).points)
      for (const std::string& key : p.single) values[key].insert(p.choice.at(key));
    for (const auto& [key, of_key] : values)
      if (of_key.size() == 1) by_key[key].push_back(series);
  }
  std::vector<std::string> parts;
  for (const auto& [key, series] : by_key) {
    const bool is_all = series.size() == series_names(r).size();
    parts.push_back(fmt::format("one {} for every {}{}{}", last_part(key), last_part(r.report.x_key),
                                is_all ? "" : " of ", is_all ? "" : fmt::format("{}", fmt::join(series, ", "))));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, "; "));
}

/// Where a chosen value of any swept key is an end of those tried: "chosen at an end: lr at heads = 4, 8 of D 64".
std::string edges_of(const Analysis& r) {
  std::vector<std::string> parts;
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::vector<std::string>> by_key;
    const Curve& c = r.curve(series);
    for (const Point& p : c.points)
      for (const std::string& key : p.edges) by_key[last_part(key)].push_back(exact(p.x));
    for (const auto& [key, xs] : by_key)
      parts.push_back(fmt::format("{} at {}", key, place(r, series, xs, c.points.size())));
  }
  return parts.empty() ? "" : fmt::format(" (chosen at an end of the values tried: {})", fmt::join(parts, "; "));
}

/// "3 seeds", "3 to 12 seeds" where series differ.
std::string seeds_of(const StudyResults& r) {
  std::map<std::string, std::set<int64_t>> by_series;
  for (const TrialRecord& t : r.trials) by_series[t.series].insert(t.seed);
  std::set<int64_t> counts;
  for (const auto& [series, seeds] : by_series) counts.insert(std::ssize(seeds));
  return counts.size() == 1 ? counted(*counts.begin(), "seed")
                            : fmt::format("{} to {} seeds", *counts.begin(), *counts.rbegin());
}

}  // namespace

std::string settings_line(const Analysis& r, Edges edges) {
  const std::vector<Json> configs = training_configs(r);
  if (configs.empty()) return "";
  const auto of = [&](const char* path) { return values_of(configs, path); };
  std::vector<std::string> parts;
  const auto add = [&](const ValueSet& values, const std::string& text) {
    if (!values.empty()) parts.push_back(text);
  };
  const ValueSet width = of("/model/width"), layers = of("/model/layers"), steps = of("/train/steps"),
                 batch = of("/train/batch"), kind = of("/train/optimizer/kind"), rate = of("/train/optimizer/lr"),
                 positions = of("/model/positions"), first = of("/task/first_position"),
                 feed_forward = of("/model/ffn_width"), norm = of("/model/norm");
  add(width, "D " + width.text());
  add(layers, with_noun(layers, "layer"));
  if (!feed_forward.empty() && feed_forward.text() == "0")
    parts.emplace_back("no feed-forward network");  // what a reader would take for given
  if (!norm.empty() && norm.text() == "none") parts.emplace_back("no norm");
  add(steps, fmt::format("{} of {}", with_noun(steps, "step"), with_noun(batch, "sequence")));
  add(rate, fmt::format("{}, learning rates {}{}{}", kind.text(), rate.text(),
                        edges == Edges::told ? singles_of(r) : "", edges == Edges::told ? edges_of(r) : ""));
  parts.push_back(seeds_of(r));
  add(positions, "positions " + positions.text());
  add(first, "loss from position " + first.text());
  return fmt::format("{}", fmt::join(parts, " · "));
}

TaskWords task_words(const TaskJson& task) {
  const std::string name = task_value(task, "kind");
  for (const TaskKind& kind : task_kinds())
    if (kind.name == name) return kind.words(task);
  return {fmt::format("A task of the kind {}.", name)};
}

TaskWords task_words(const StudyResults& r) {
  std::vector<TaskJson> tasks;
  std::set<std::string> seen;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TaskJson config = TaskJson::parse(trial->config, nullptr, false);
    if (!config.is_object() || !task_part(config, "task").contains("kind")) continue;
    if (seen.insert(config["task"].dump()).second) tasks.push_back(config["task"]);
  }
  if (tasks.empty()) return {};
  TaskWords out = task_words(tasks[0]);
  std::set<std::string> differing;
  for (const TaskJson& task : tasks)
    for (const auto& [key, value] : task.items())
      if (const auto first = tasks[0].find(key); first == tasks[0].end() || *first != value) differing.insert(key);
  if (differing.count("kind")) out.words += " That is the task of the first series; others have tasks of their own.";
  else if (!differing.empty())
    out.words +=
        fmt::format(" That describes the first of several settings: they differ in {}.", fmt::join(differing, ", "));
  return out;
}

}  // namespace headroom::experiments
