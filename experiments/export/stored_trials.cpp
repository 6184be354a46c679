#include "experiments/export/stored_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "engine/error.h"
#include "experiments/run/store.h"
#include "experiments/toml/document.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Config = std::map<std::string, json>;  ///< "model.heads" → 4

void flatten(const json& node, const std::string& path, Config& out) {
  if (!node.is_object() || node.empty()) {
    out[path] = node;
    return;
  }
  for (const auto& [key, value] : node.items())
    flatten(value, path.empty() ? key : fmt::format("{}.{}", path, key), out);
}

Config config_of(const std::string& text) {
  Config config;
  const json node = json::parse(text, nullptr, false);
  if (node.is_object()) flatten(node, "", config);
  return config;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

struct Row {
  StoredTrial trial;
  Config config;
};

/// Keys whose values are not the same in every row.
std::set<std::string> varying_keys(const std::vector<Row>& rows) {
  std::set<std::string> all, varying;
  for (const Row& row : rows)
    for (const auto& entry : row.config) all.insert(entry.first);
  for (const std::string& key : all) {
    const auto value = [&](const Row& row) {
      const auto found = row.config.find(key);
      return found == row.config.end() ? json() : found->second;
    };
    const bool same =
        std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return value(row) == value(rows[0]); });
    if (!same && key != "seed") varying.insert(key);
  }
  return varying;
}

/// The trials of one store, in order.
std::vector<StoredTrial> read_store(const fs::path& path, const std::string& study, const std::string& profile) {
  const RunStore store(path, RunStore::Access::read);
  std::vector<Row> rows;
  for (const std::string& id : store.ids()) {
    std::optional<TrialRecord> record = store.find(id);
    if (!record) continue;
    Row row{{study, profile, "", std::move(*record)}, {}};
    row.config = config_of(row.trial.record.config);
    if (const auto seed = row.config.find("seed"); seed != row.config.end() && seed->second.is_number_integer())
      row.trial.record.seed = seed->second.get<int64_t>();
    rows.push_back(std::move(row));
  }
  const std::set<std::string> keys = varying_keys(rows);
  for (Row& row : rows) {
    std::erase_if(row.config, [&](const auto& entry) { return !keys.count(entry.first); });
    for (const auto& [key, value] : row.config)
      row.trial.config += fmt::format("{}{}={}", row.trial.config.empty() ? "" : " ", key, text_of(value));
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.config, a.trial.record.seed, a.trial.record.id) <
           std::tie(b.config, b.trial.record.seed, b.trial.record.id);
  });
  std::vector<StoredTrial> trials;
  for (Row& row : rows) trials.push_back(std::move(row.trial));
  return trials;
}

/// OUT/STUDY/PROFILE/store.sqlite: (study, profile) → path, ordered.
std::map<std::pair<std::string, std::string>, fs::path> find_stores(const fs::path& out) {
  std::map<std::pair<std::string, std::string>, fs::path> stores;
  std::error_code error;
  for (fs::directory_iterator study(out, error), end; !error && study != end; study.increment(error)) {
    std::error_code inner;
    for (fs::directory_iterator profile(study->path(), inner); !inner && profile != end; profile.increment(inner)) {
      const fs::path path = profile->path() / "store.sqlite";
      if (fs::exists(path, inner))
        stores[{study->path().filename().string(), profile->path().filename().string()}] = path;
    }
  }
  return stores;
}

}  // namespace

std::vector<StoredTrial> read_trials(const fs::path& out, const std::vector<std::string>& studies) {
  const auto stores = find_stores(out);
  require(!stores.empty(), "{}: there is no run store; run a study first", out.string());
  for (const std::string& wanted : studies) {
    const bool known =
        std::any_of(stores.begin(), stores.end(), [&](const auto& s) { return s.first.first == wanted; });
    require(known, "{}: there is no run store of study '{}'", out.string(), wanted);
  }
  std::vector<StoredTrial> all;
  for (const auto& [names, path] : stores) {
    if (!studies.empty() && std::find(studies.begin(), studies.end(), names.first) == studies.end()) continue;
    for (StoredTrial& trial : read_store(path, names.first, names.second)) all.push_back(std::move(trial));
  }
  return all;
}

std::string study_id(const std::string& argument) {
  if (!fs::is_regular_file(argument)) return argument;
  const Value file = read_toml(argument);
  const Entry* study = file.find("study");
  const Entry* id = study ? study->value.find("id") : nullptr;
  require(id && id->value.kind == Value::Kind::text, "{}: study.id: missing", argument);
  return id->value.text;
}

}  // namespace headroom::experiments
