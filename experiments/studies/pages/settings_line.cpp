#include "experiments/studies/pages/settings_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/claims/value_set.h"

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
std::string counted(const ValueSet& values, const std::string& noun) {
  const bool is_one = values.numbers.size() == 1 && *values.numbers.begin() == 1;
  return fmt::format("{} {}{}", values.text(), noun, is_one ? "" : "s");
}

/// "heads 1, 2, 4 of D 64", or "every heads of D 64" where those are all.
std::string place(const StudyResults& r, const std::string& series, const std::vector<std::string>& xs, size_t all) {
  const std::string axis = last_part(r.report.x_key);
  const std::string where = xs.size() == all ? "every " + axis : fmt::format("{} {}", axis, fmt::join(xs, ", "));
  return series.empty() ? where : where + " of " + series;
}

/// Where one value alone of a swept key was tried at every x: "one lr for every heads: D 256".
std::string singles_of(const StudyResults& r) {
  std::map<std::string, std::vector<std::string>> by_key;  // → series
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::set<double>> values;
    for (const Point& p : curve(r, series).points)
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
std::string edges_of(const StudyResults& r) {
  std::vector<std::string> parts;
  for (const std::string& series : series_names(r)) {
    std::map<std::string, std::vector<std::string>> by_key;
    const Curve c = curve(r, series);
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
  size_t fewest = by_series.empty() ? 0 : by_series.begin()->second.size(), most = 0;
  for (const auto& [series, seeds] : by_series) {
    fewest = std::min(fewest, seeds.size());
    most = std::max(most, seeds.size());
  }
  return fewest == most ? fmt::format("{} {}", most, most == 1 ? "seed" : "seeds")
                        : fmt::format("{} to {} seeds", fewest, most);
}

}  // namespace

std::string settings_line(const StudyResults& r, Edges edges) {
  const std::vector<Json> configs = training_configs(r);
  if (configs.empty()) return "";
  const auto of = [&](const char* path) { return values_of(configs, path); };
  std::vector<std::string> parts;
  const auto add = [&](const ValueSet& values, const std::string& text) {
    if (!values.empty()) parts.push_back(text);
  };
  const ValueSet width = of("/model/width"), layers = of("/model/layers"), steps = of("/train/steps"),
                 batch = of("/train/batch"), kind = of("/train/optimizer/kind"), rate = of("/train/optimizer/lr"),
                 positions = of("/model/positions"), first = of("/task/first_position");
  add(width, "D " + width.text());
  add(layers, counted(layers, "layer"));
  add(steps, fmt::format("{} of {}", counted(steps, "step"), counted(batch, "sequence")));
  add(rate, fmt::format("{}, learning rates {}{}{}", kind.text(), rate.text(),
                        edges == Edges::told ? singles_of(r) : "", edges == Edges::told ? edges_of(r) : ""));
  parts.push_back(seeds_of(r));
  add(positions, "positions " + positions.text());
  add(first, "loss from position " + first.text());
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace headroom::experiments
