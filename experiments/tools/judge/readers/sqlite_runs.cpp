#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/logs.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using RunsById = std::map<std::string, ForeignRun>;

ForeignRun& run_of(RunsById& runs, const fs::path& file, const std::string& id) {
  ForeignRun& run = runs[id];
  if (run.source.empty()) run.source = fmt::format("{}:{}", file.string(), id);
  return run;
}

RunEnd end_of_state(const std::string& state) {
  if (state == "FINISHED" || state == "COMPLETE") return RunEnd::finished;
  return state == "RUNNING" || state == "SCHEDULED" || state == "WAITING" ? RunEnd::running : RunEnd::failed;
}

void set_state(ForeignRun& run, const std::string& state) {
  run.end = end_of_state(state);
  run.said = state;
}

RunsById read_mlflow(const Database& database) {
  RunsById runs;
  const fs::path& file = database.path();
  for (Statement s(database, "SELECT run_uuid, status, name FROM runs WHERE lifecycle_stage = 'active'"); s.step();) {
    ForeignRun& run = run_of(runs, file, s.text(0));
    set_state(run, s.text(1));
    run.parameters["run_name"] = s.text(2);
  }
  for (Statement s(database, "SELECT run_uuid, key, value FROM params"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end()) run->second.parameters[s.text(1)] = s.text(2);
  for (Statement s(database, "SELECT run_uuid, key, step, value, is_nan FROM metrics ORDER BY timestamp"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end() && s.integer(2) >= 0)
      run->second.metrics[s.text(1)][s.integer(2)] =
          s.integer(4) ? std::numeric_limits<double>::quiet_NaN() : s.real(3);
  return runs;
}

/// A parameter's value: of a categorical one the number of its choice.
std::string optuna_value(double value, const std::string& distribution) {
  const Json json = Json::parse(distribution, nullptr, false);
  const Json choices = json.is_object() ? json.value("attributes", Json::object()).value("choices", Json()) : Json();
  const auto i = static_cast<size_t>(std::max(0.0, value));
  if (!choices.is_array() || i >= choices.size()) return fmt::format("{}", value);
  return choices[i].is_string() ? choices[i].get<std::string>() : choices[i].dump();
}

RunsById read_optuna(const Database& database) {
  RunsById runs;
  const fs::path& file = database.path();
  for (Statement s(database, "SELECT trial_id, state, study_name FROM trials JOIN studies USING (study_id)");
       s.step();) {
    ForeignRun& run = run_of(runs, file, s.text(0));
    set_state(run, s.text(1));
    run.parameters["study_name"] = s.text(2);
  }
  for (Statement s(database, "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params");
       s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end())
      run->second.parameters[s.text(1)] = optuna_value(s.real(2), s.text(3));
  for (Statement s(database, "SELECT trial_id, key, value_json FROM trial_user_attributes"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end()) {
      add_json_parameters(run->second, s.text(1), s.text(2));
      if (const auto number = foreign_number(s.text(2))) run->second.metrics[s.text(1)][0] = *number;
    }
  for (Statement s(database, "SELECT trial_id, objective, value FROM trial_values"); s.step();)
    if (const auto run = runs.find(s.text(0)); run != runs.end())
      run->second.metrics[s.integer(1) == 0 ? "value" : fmt::format("value_{}", s.integer(1))][0] = s.real(2);
  return runs;
}

/// A trial of ours: its settings, and its metrics by the names that a CSV of ours has.
ForeignRun own_trial(const TrialRecord& trial, const fs::path& file) {
  ForeignRun run{.source = fmt::format("{}:{}", file.string(), trial.id.substr(0, 8)),
                 .parameters = trial_facts(trial.config).settings,
                 .metrics = {}};
  if (trial.status != TrialStatus::finished) run.end = RunEnd::failed, run.said = trial.message;
  for (const auto& [name, value] : trial.test) run.metrics["test." + name][trial.steps] = value;
  for (const auto& [name, value] : trial.validation) run.metrics["validation." + name][trial.steps] = value;
  return run;
}

}  // namespace

std::vector<ForeignRun> read_sqlite_runs(const fs::path& file, std::vector<std::string>& problems) {
  std::vector<ForeignRun> out;
  try {
    if (file.filename() == "store.sqlite") {
      RunStore(file, RunStore::Access::read).each([&](TrialRecord&& trial) { out.push_back(own_trial(trial, file)); });
      return out;
    }
    const Database database(file, true);
    const bool is_mlflow = database.has_table("runs") && database.has_table("metrics");
    const bool is_optuna = database.has_table("trial_params") && database.has_table("studies");
    if (!is_mlflow && !is_optuna) problems.push_back(file.string() + ": a database, but neither MLflow's nor Optuna's");
    for (auto& [id, run] : is_mlflow ? read_mlflow(database) : is_optuna ? read_optuna(database) : RunsById{})
      out.push_back(std::move(run));
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  return out;
}

}  // namespace headroom::experiments
