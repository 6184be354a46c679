#include "experiments/studies/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

using Settings = std::map<std::string, std::set<std::string>>;  ///< key → the values that trials have, as text

void collect(const Json& node, const std::string& path, Settings& settings) {
  const bool is_list_of_tables = node.is_array() && !node.empty() && node[0].is_object();
  if ((!node.is_object() && !is_list_of_tables) || node.empty()) {
    settings[path].insert(node.is_string() ? node.get<std::string>()
                                           : node.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const auto& item : node.items())
    collect(item.value(), path.empty() ? item.key() : path + "." + item.key(), settings);
}

Settings settings_of(const std::vector<TrialRecord>& trials) {
  Settings settings;
  for (const TrialRecord& trial : trials) {
    if (const Json config = Json::parse(trial.config, nullptr, false); config.is_object())
      collect(config, "", settings);
    settings["(program)"].insert(trial.code);
    for (const auto& [file, hash] : trial.data) settings["(data) " + file].insert(hash.substr(0, 12));
  }
  return settings;
}

/// "1, 2, 4": numbers by size, the middle of long lists left out.
std::string values_text(const std::set<std::string>& values) {
  constexpr size_t most = 8;
  std::vector<std::string> list(values.begin(), values.end());
  const auto as_number = [](const std::string& text) {
    const Json json = Json::parse(text, nullptr, false);
    return json.is_number() ? json.get<double>() : 0;
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const std::string& x, const std::string& y) { return as_number(x) < as_number(y); });
  if (list.size() <= most) return fmt::format("{}", fmt::join(list, ", "));
  return fmt::format("{}, …, {} ({} values)", fmt::join(list.begin(), list.begin() + 3, ", "), list.back(),
                     list.size());
}

}  // namespace

std::vector<SettingDifference> settings_that_differ(const std::vector<TrialRecord>& a,
                                                    const std::vector<TrialRecord>& b) {
  Settings of_a = settings_of(a), of_b = settings_of(b);
  std::set<std::string> keys;
  for (const Settings* settings : {&of_a, &of_b})
    for (const auto& [key, values] : *settings) keys.insert(key);
  std::erase_if(keys, [&](const std::string& key) { return of_a[key] == of_b[key]; });
  std::vector<SettingDifference> differences;
  for (const bool is_in_brackets : {false, true})  // those are not of the config
    for (const std::string& key : keys)
      if (key.starts_with("(") == is_in_brackets)
        differences.push_back({key, values_text(of_a[key]), values_text(of_b[key])});
  return differences;
}

}  // namespace headroom::experiments
