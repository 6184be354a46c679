#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "engine/error.h"
#include "experiments/studies/export/gzip_lines.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/json_leaves.h"
#include "experiments/tools/judge/readers/logs.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// A trial, of which both of Optuna's stores say the same in other words.
class OptunaTrial {
 public:
  OptunaTrial(const std::string& source, const std::string& study) {
    run.source = source;
    run.parameters["study_name"] = study;
    set_state("RUNNING");
  }
  void set_state(const std::string& state) {
    run.end = end_named(state);
    run.said = state;
  }
  /// Of a categorical parameter the value is the number of its choice.
  void set_parameter(const std::string& name, double value, const std::string& distribution) {
    const ForeignJson json = foreign_json(distribution);
    const auto attributes = json.is_object() ? json.find("attributes") : json.end();
    const ForeignJson choices = attributes != json.end() && attributes->is_object()
                                    ? attributes->value("choices", ForeignJson())
                                    : ForeignJson();
    std::string& text = run.parameters[name] = fmt::format("{}", value);
    if (!choices.is_array() || !(value >= 0 && value < static_cast<double>(choices.size()))) return;
    const ForeignJson& choice = choices[static_cast<size_t>(value)];
    text = choice.is_string() ? choice.get<std::string>() : choice.dump();
  }
  void set_attribute(const std::string& name, const std::string& json) {
    add_json_parameters(run, name, json);
    if (const auto number = foreign_number(json)) run.metrics[name][0] = *number;
  }
  void set_value(int64_t objective, double value) {
    run.metrics[objective == 0 ? "value" : fmt::format("value_{}", objective)][0] = value;
  }

  ForeignRun run;
};

/// Seconds since 1970 of "2026-01-31 23:59:59.5", or with a T between, in UTC unless "+01:00" follows; 0 for other
/// text.
double utc_seconds(std::string text) {
  if (text.size() > 10 && text[10] == 'T') text[10] = ' ';
  std::tm time{}, zone{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%d %H:%M:%S", &time);
  if (rest == nullptr) return 0;
  const std::string tail(rest);
  const size_t end = std::min(tail.find_first_of("+-"), tail.size());
  strptime(tail.c_str() + end, "%z", &zone);
  return static_cast<double>(timegm(&time) - zone.tm_gmtoff) + foreign_number(tail.substr(0, end)).value_or(0);
}

/// The operations of a journal, in their order. Trials and studies are numbered as they come.
class Journal {
 public:
  explicit Journal(std::string source) : source_(std::move(source)) {}

  /// Takes one operation. Throws nlohmann's exceptions for one that lacks what its kind has.
  void add(const ForeignJson& operation) {
    enum : size_t { create_study, delete_study, create_trial = 4, set_parameter, set_state, set_attribute = 8 };
    const size_t code = index_in(operation, "op_code");
    if (code == create_study) {
      // Of two workers that create one study, the second one's operation fails.
      const auto name = operation.at("study_name").get<std::string>();
      if (names_.insert(name).second) studies_.push_back(name);
    } else if (code == delete_study) {
      const auto id = index_in(operation, "study_id");
      if (id < studies_.size()) names_.erase(studies_[id]);
      deleted_.insert(id);
    } else if (code == create_trial) {
      create(operation);
    } else if (code == set_parameter || code == set_state || code == set_attribute) {
      const auto id = index_in(operation, "trial_id");
      if (id >= trials_.size() || trials_[id].is_over) return;
      OptunaTrial& trial = trials_[id].trial;
      if (code == set_parameter)
        trial.set_parameter(operation.at("param_name"), number_in(operation.at("param_value_internal")),
                            operation.at("distribution").get<std::string>());
      else if (code == set_state) end(trials_[id], operation);
      else
        for (const auto& [name, value] : operation.at("user_attr").items()) trial.set_attribute(name, value.dump());
    }
  }
  std::vector<ForeignRun> runs() {
    std::vector<ForeignRun> out;
    for (Entry& entry : trials_)
      if (!deleted_.contains(entry.study)) out.push_back(std::move(entry.trial.run));
    return out;
  }

 private:
  struct Entry {
    OptunaTrial trial;
    size_t study;
    bool is_over = false;  ///< nothing changes a trial that has ended
  };

  static size_t index_in(const ForeignJson& operation, const char* key) {
    return operation.at(key).get_ref<const ForeignJson::number_unsigned_t&>();
  }
  static double number_in(const ForeignJson& value) {
    return value.is_number() ? value.get<double>() : foreign_number(value.get<std::string>()).value_or(NAN);
  }
  static std::string text_in(const ForeignJson& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  }
  void create(const ForeignJson& operation) {
    const auto study = index_in(operation, "study_id");
    if (study >= studies_.size() || deleted_.contains(study)) return;
    constexpr size_t most_trials = 1'000'000;
    require(trials_.size() < most_trials, "{}: more than {} trials; the rest is left out", source_, most_trials);
    trials_.push_back({OptunaTrial(fmt::format("{}:{}", source_, trials_.size()), studies_[study]), study});
    OptunaTrial& trial = trials_.back().trial;
    trial.run.began = utc_seconds(text_in(operation, "datetime_start"));
    if (operation.contains("params") && operation.contains("distributions"))
      for (const auto& [name, value] : operation["params"].items())
        trial.set_parameter(name, number_in(value), operation["distributions"].at(name).get<std::string>());
    if (operation.contains("user_attrs"))
      for (const auto& [name, value] : operation["user_attrs"].items()) trial.set_attribute(name, value.dump());
    if (operation.contains("state")) end(trials_.back(), operation);
  }
  /// A state, with the values and the date that come with the last one.
  static void end(Entry& entry, const ForeignJson& operation) {
    constexpr const char* states[] = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};
    const auto state = index_in(operation, "state");
    if (state == 0 && entry.trial.run.said == states[0]) return;  // another worker has it
    entry.trial.set_state(state < std::size(states) ? states[state] : "unknown");
    entry.is_over = entry.trial.run.end != RunEnd::running;
    if (const double began = utc_seconds(text_in(operation, "datetime_start")); began > 0)
      entry.trial.run.began = began;
    entry.trial.run.ended = utc_seconds(text_in(operation, "datetime_complete"));
    if (operation.contains("value") && !operation["value"].is_null())
      entry.trial.set_value(0, number_in(operation["value"]));
    if (operation.contains("values") && operation["values"].is_array())
      for (size_t i = 0; i < operation["values"].size(); ++i)
        entry.trial.set_value(static_cast<int64_t>(i), number_in(operation["values"][i]));
  }

  std::string source_;
  std::vector<std::string> studies_;
  std::set<std::string> names_;
  std::set<size_t> deleted_;
  std::vector<Entry> trials_;
};

}  // namespace

std::vector<ForeignRun> read_optuna_database(const Database& database) {
  std::map<std::string, OptunaTrial> trials;
  for (Statement s(database,
                   "SELECT trial_id, state, study_name, datetime_start, datetime_complete FROM trials "
                   "JOIN studies USING (study_id)");
       s.step();) {
    OptunaTrial& trial =
        trials.try_emplace(s.text(0), fmt::format("{}:{}", database.path().string(), s.text(0)), s.text(2))
            .first->second;
    trial.set_state(s.text(1));
    trial.run.began = utc_seconds(s.text(3));
    trial.run.ended = utc_seconds(s.text(4));
  }
  const auto each = [&](const char* sql, const auto& f) {
    for (Statement s(database, sql); s.step();)
      if (const auto trial = trials.find(s.text(0)); trial != trials.end()) f(s, trial->second);
  };
  each("SELECT trial_id, param_name, param_value, distribution_json FROM trial_params",
       [](const Statement& s, OptunaTrial& trial) { trial.set_parameter(s.text(1), s.real(2), s.text(3)); });
  each("SELECT trial_id, key, value_json FROM trial_user_attributes",
       [](const Statement& s, OptunaTrial& trial) { trial.set_attribute(s.text(1), s.text(2)); });
  each("SELECT trial_id, objective, value FROM trial_values",
       [](const Statement& s, OptunaTrial& trial) { trial.set_value(s.integer(1), s.real(2)); });
  std::vector<ForeignRun> runs;
  for (auto& [id, trial] : trials) runs.push_back(std::move(trial.run));
  return runs;
}

std::vector<ForeignRun> read_optuna_journal(const fs::path& file, std::vector<std::string>& problems) {
  Journal journal(file.string());
  std::vector<std::string> broken;
  attempt(problems, [&] {
    LineReader lines(file, {.file = uint64_t{1} << 28, .text = uint64_t{1} << 29, .line = uint64_t{1} << 24});
    std::string line;
    for (int64_t number = 1; lines.next(line); ++number) {
      if (line.empty()) continue;
      try {
        journal.add(foreign_json(line));
      } catch (const ForeignJson::exception&) {
        broken.push_back(std::to_string(number));
      }
    }
  });
  if (!broken.empty())
    problems.push_back(fmt::format("{}: these lines are no whole operations of Optuna and are left out: {}",
                                   file.string(), some_of(broken)));
  return journal.runs();
}

}  // namespace headroom::experiments
