#include "experiments/studies/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/text.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/toml/document.h"
#include "tasks/task.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Json = nlohmann::ordered_json;

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
      Key& known = keys_.try_emplace(key, Key{value}).first->second;
      ++known.count;
      known.varies = known.varies || known.first != value;
    }
  }
  bool contains(const std::string& key) const {
    const Key& known = keys_.at(key);
    return key != "seed" && (known.varies || (known.count < count_ && !known.first.is_null()));
  }

 private:
  struct Key {
    json first;
    int64_t count = 0;
    bool varies = false;
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

/// Every number of a trial, in order of (step, split, metric).
std::vector<HistoryPoint> all_numbers(const TrialRecord& r, Clock clock) {
  std::vector<HistoryPoint> all = r.history;
  for (const auto& [metric, value] : r.validation) all.push_back({r.steps, "validation_judged", metric, value});
  for (const auto& [metric, value] : r.test) all.push_back({r.steps, "test", metric, value});
  all.push_back({r.steps, "trial", "flops", r.flops});
  all.push_back({r.steps, "trial", "parameters", static_cast<double>(r.parameters)});
  if (clock == Clock::kept) all.push_back({r.steps, "trial", "seconds", r.seconds});
  if (clock == Clock::left_out)
    std::erase_if(all, [](const HistoryPoint& p) { return tasks::is_clock_metric(p.metric); });
  std::stable_sort(all.begin(), all.end(), [](const HistoryPoint& a, const HistoryPoint& b) {
    return std::tie(a.step, a.split, a.metric) < std::tie(b.step, b.split, b.metric);
  });
  return all;
}

tasks::Metrics without_clock(tasks::Metrics metrics, Clock clock) {
  if (clock == Clock::left_out) std::erase_if(metrics, [](const auto& m) { return tasks::is_clock_metric(m.first); });
  return metrics;
}

}  // namespace

std::string StoredPlace::words(const TrialRecord& trial) const {
  return fmt::format("{}{}seed {}", config, config.empty() ? "" : " ", trial.seed);
}

void StoredTrials::each(const std::function<void(const StoredPlace&, const TrialRecord&)>& f) const {
  for (const StoredRun& run : runs_) {
    const RunStore store(run.store(), RunStore::Access::read);
    say_faults(store);
    const std::vector<std::string> tags = store.tags();
    std::vector<std::string> notes;
    for (Note& note : store.notes()) notes.push_back(std::move(note.text));
    for (const Row& row : rows_of(store)) {
      std::optional<TrialRecord> trial = store.find(row.id);
      require(trial.has_value(), "{}: trial {} is not found any more", run.store().string(), row.id);
      trial->seed = row.seed;
      StoredPlace place{.study = run.study, .profile = run.profile, .config = "", .tags = tags, .notes = notes};
      for (const auto& [key, value] : row.config) {
        const std::string& text = place.settings[key] = text_of(value);
        place.config += fmt::format("{}{}={}", place.config.empty() ? "" : " ", key, text);
      }
      f(place, *trial);
    }
  }
}

std::set<std::string> StoredTrials::keys() const {
  std::set<std::string> keys;
  for (const StoredRun& run : runs_)
    for (const Row& row : rows_of(RunStore(run.store(), RunStore::Access::read)))
      for (const auto& [key, value] : row.config) keys.insert(key);
  return keys;
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
  const Entry* id = find_path(file, "study.id");
  require(id && id->value.kind == Value::Kind::text, "{}: study.id: missing", argument);
  return id->value.text;
}

std::vector<StoredRun> runs_of_studies(const fs::path& out, const std::vector<std::string>& studies) {
  std::vector<StoredRun> runs = stored_runs(out);
  require(!runs.empty(), "{}: there is no run store; run a study first", out.string());
  for (const std::string& wanted : studies)
    require(std::any_of(runs.begin(), runs.end(), [&](const StoredRun& run) { return run.study == wanted; }),
            "{}: there is no run store of study '{}'", out.string(), excerpt(wanted));
  std::erase_if(runs, [&](const StoredRun& run) {
    return !studies.empty() && std::find(studies.begin(), studies.end(), run.study) == studies.end();
  });
  return runs;
}

void export_csv(const StoredTrials& trials, Clock clock, const TextSink& out) {
  const std::set<std::string> keys = trials.keys();
  std::vector<std::string> cells{"study",  "profile", "config", "seed",   "trial",
                                 "status", "step",    "split",  "metric", "value"};
  cells.insert(cells.end(), keys.begin(), keys.end());
  out(csv_row(cells));
  trials.each([&](const StoredPlace& place, const TrialRecord& trial) {
    std::string rows;
    const std::string seed = fmt::format("{}", trial.seed), status = name_of(trial.status);
    for (const HistoryPoint& p : all_numbers(trial, clock)) {
      const std::string step = fmt::format("{}", p.step), value = fmt::format("{}", p.value);
      cells = {place.study, place.profile, place.config, seed, trial.id, status, step, p.split, p.metric, value};
      for (const std::string& key : keys) cells.push_back(place.settings.contains(key) ? place.settings.at(key) : "");
      rows += csv_row(cells);
    }
    out(rows);
  });
}

void export_json(const StoredTrials& trials, Clock clock, const TextSink& out) {
  bool is_first = true;
  trials.each([&](const StoredPlace& place, const TrialRecord& r) {
    Json history = Json::array();
    for (const HistoryPoint& p : r.history)
      history.push_back({{"step", p.step}, {"split", p.split}, {"metric", p.metric}, {"value", p.value}});
    Json entry = {{"study", place.study}, {"profile", place.profile}, {"trial", r.id}};
    entry["config"] = Json::parse(r.config, nullptr, false);
    if (entry["config"].is_discarded()) entry["config"] = nullptr;
    entry.update({{"seed", r.seed},
                  {"status", name_of(r.status)},
                  {"message", r.message},
                  {"steps", r.steps},
                  {"parameters", r.parameters},
                  {"flops", r.flops}});
    if (clock == Clock::kept) entry["seconds"] = r.seconds;
    entry.update({{"validation", without_clock(r.validation, clock)},
                  {"test", without_clock(r.test, clock)},
                  {"test_parts", r.test_parts},
                  {"history", history},
                  {"predictions", r.predictions},
                  {"data", r.data},
                  {"code", r.code}});
    if (!place.tags.empty()) entry["tags"] = place.tags;
    if (!place.notes.empty()) entry["notes"] = place.notes;
    const std::string text = Json::array({entry}).dump(1, ' ', false, Json::error_handler_t::replace);
    // Its lines without the brackets of a list of one.
    out((is_first ? "[\n" : ",\n") + text.substr(2, text.size() - 4));
    is_first = false;
  });
  out(is_first ? "[]\n" : "\n]\n");
}

}  // namespace headroom::experiments
