#include <fmt/format.h>

#include "engine/error.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/logs.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// A trial of ours: its settings, and its metrics by the names that a CSV of ours has.
ForeignRun own_trial(const TrialRecord& trial, const fs::path& file) {
  ForeignRun run{.source = fmt::format("{}:{}", file.string(), trial.id.substr(0, 8)),
                 .parameters = trial_facts(trial.config).settings,
                 .metrics = {}};
  if (trial.status != TrialStatus::finished) run.end = RunEnd::failed, run.said = trial.message;
  if (trial.ended > 0) run.began = trial.ended - trial.seconds, run.ended = trial.ended;
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
    if (is_mlflow) return read_mlflow_database(database);
    if (is_optuna) return read_optuna_database(database);
    problems.push_back(file.string() + ": a database, but neither MLflow's nor Optuna's");
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
  return out;
}

}  // namespace headroom::experiments
