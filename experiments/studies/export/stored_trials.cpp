#include "experiments/studies/export/stored_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/error.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/toml/document.h"

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

/// What puts a trial in its place, and names it.
struct Row {
  Config config;  ///< the keys that vary
  int64_t seed = 0;
  std::string id;
};

/// Keys whose values are not the same in every trial, in one pass.
class VaryingKeys {
 public:
  void add(const Config& config) {
    ++count_;
    for (const auto& [key, value] : config) {
      const auto [known, is_new] = keys_.try_emplace(key, Key{value, 0, false});
      ++known->second.count;
      known->second.varies = known->second.varies || known->second.first != value;
    }
  }
  bool contains(const std::string& key) const {
    const Key& known = keys_.at(key);
    return key != "seed" && (known.varies || (known.count < count_ && !known.first.is_null()));
  }

 private:
  struct Key {
    json first;
    int64_t count;
    bool varies;
  };
  std::map<std::string, Key> keys_;
  int64_t count_ = 0;
};

/// The trials of one store, in order.
std::vector<Row> rows_of(const RunStore& store) {
  VaryingKeys keys;
  store.each_outcome([&](TrialRecord&& trial) { keys.add(config_of(trial.config)); });
  std::vector<Row> rows;
  store.each_outcome([&](TrialRecord&& trial) {
    Row row{config_of(trial.config), 0, trial.id};
    if (const auto seed = row.config.find("seed"); seed != row.config.end() && seed->second.is_number_integer())
      row.seed = seed->second.get<int64_t>();
    std::erase_if(row.config, [&](const auto& entry) { return !keys.contains(entry.first); });
    rows.push_back(std::move(row));
  });
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.config, a.seed, a.id) < std::tie(b.config, b.seed, b.id);
  });
  return rows;
}

}  // namespace

std::string StoredPlace::words(const TrialRecord& trial) const {
  return fmt::format("{}{}seed {}", config, config.empty() ? "" : " ", trial.seed);
}

StoredTrials::StoredTrials(const fs::path& out, const std::vector<std::string>& studies) : runs_(stored_runs(out)) {
  require(!runs_.empty(), "{}: there is no run store; run a study first", out.string());
  for (const std::string& wanted : studies) {
    const bool known = std::any_of(runs_.begin(), runs_.end(), [&](const auto& run) { return run.study == wanted; });
    require(known, "{}: there is no run store of study '{}'", out.string(), wanted);
  }
  if (!studies.empty())
    std::erase_if(runs_, [&](const StoredRun& run) {
      return std::find(studies.begin(), studies.end(), run.study) == studies.end();
    });
}

void StoredTrials::each(const std::function<void(const StoredPlace&, const TrialRecord&)>& f) const {
  for (const StoredRun& run : runs_) {
    const RunStore store(run.store(), RunStore::Access::read);
    const std::vector<std::string> tags = store.tags();
    std::vector<std::string> notes;
    for (Note& note : store.notes()) notes.push_back(std::move(note.text));
    for (const Row& row : rows_of(store)) {
      std::optional<TrialRecord> trial = store.find(row.id);
      require(trial.has_value(), "{}: trial {} is not found any more", run.store().string(), row.id);
      trial->seed = row.seed;
      StoredPlace place{run.study, run.profile, "", tags, notes};
      for (const auto& [key, value] : row.config)
        place.config += fmt::format("{}{}={}", place.config.empty() ? "" : " ", key, text_of(value));
      f(place, *trial);
    }
  }
}

std::vector<std::pair<std::string, int64_t>> StoredTrials::unchecked() const {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const StoredRun& run : runs_)
    counts.emplace_back(run.store().string(), RunStore(run.store(), RunStore::Access::read).unchecked());
  return counts;
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
