#include "experiments/tools/judge/readers/readers.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/studies/config/trial_facts.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/database.h"
#include "experiments/tools/judge/readers/logs.h"
#include "experiments/tools/judge/readers/run_files.h"
#include "experiments/tools/judge/readers/table.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Settings = std::map<std::string, std::string>;

bool is_json(const fs::path& file) {
  std::string name = file.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".ndjson");
}

/// A run for each folder of event files. HParams lie in a folder of their own below their run's.
std::vector<ForeignRun> read_event_folders(const std::vector<RunFile>& files, std::vector<std::string>& problems) {
  std::map<fs::path, ForeignRun> runs;
  for (const RunFile& file : files) {
    if (file.sort != FileSort::events) continue;
    ForeignRun& run = runs[file.path.parent_path()];
    run.source = file.path.parent_path().string();
    attempt(problems, [&] { read_event_file(file.path, run, problems); });
  }
  std::vector<ForeignRun> out;
  for (auto& [folder, run] : runs) {
    if (const auto parent = runs.find(folder.parent_path()); parent != runs.end() && !run.parameters.empty()) {
      parent->second.parameters.merge(run.parameters);
      parent->second.metrics.merge(run.metrics);
      if (run.end != RunEnd::finished) parent->second.end = run.end, parent->second.said = run.said;
      run.source.clear();
    }
  }
  for (auto& [folder, run] : runs)
    if (!run.source.empty()) out.push_back(std::move(run));
  return out;
}

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

/// The runs in a SQLite file of MLflow or of Optuna, or the trials of a store of ours.
std::vector<ForeignRun> read_sqlite_runs(const fs::path& file, std::vector<std::string>& problems) {
  std::vector<ForeignRun> out;
  attempt(problems, [&] {
    if (file.filename() == "store.sqlite")
      return RunStore(file, RunStore::Access::read).each([&](TrialRecord&& trial) {
        out.push_back(own_trial(trial, file));
      });
    const Database database(file, true);
    if (database.has_table("runs") && database.has_table("metrics")) out = read_mlflow_database(database);
    else if (database.has_table("trial_params") && database.has_table("studies")) out = read_optuna_database(database);
    else problems.push_back(file.string() + ": a database, but neither MLflow's nor Optuna's");
  });
  return out;
}

}  // namespace

ForeignRuns read_runs(const std::vector<std::string>& paths, const RunRoles& roles) {
  ForeignRuns all;
  std::vector<RunFile> files;
  for (const std::string& path : paths) {
    std::error_code none;
    require(fs::exists(path, none), "{}: there is no such file or folder", path);
    std::vector<RunFile> more = run_files(path, all.problems);
    std::move(more.begin(), more.end(), std::back_inserter(files));
  }
  std::map<fs::path, Settings> known;  // of folders
  const auto settings_at = [&](const fs::path& place) {
    const auto [found, is_new] = known.try_emplace(place);
    if (is_new) {
      found->second = settings_in(place / "");
      found->second.merge(hydra_settings(place, all.problems));
    }
    return found->second;
  };
  const auto add = [&](std::vector<ForeignRun> some, const fs::path& place) {
    for (ForeignRun& run : some) {
      run.parameters.merge(settings_at(place));
      all.runs.push_back(std::move(run));
    }
  };
  const bool is_one_table =
      std::count_if(files.begin(), files.end(), [](const RunFile& file) { return file.sort == FileSort::table; }) == 1;
  const auto add_table = [&](const fs::path& file) {
    RunTable table = is_json(file) ? read_json_lines(file, all.problems) : read_csv(file, all.problems);
    table.parameters = settings_at(file.parent_path());
    if (!is_one_table) table.parameters.emplace("file", file.string());
    ForeignRuns some = runs_of(table, roles);
    std::move(some.runs.begin(), some.runs.end(), std::back_inserter(all.runs));
    std::move(some.problems.begin(), some.problems.end(), std::back_inserter(all.problems));
  };
  for (const auto& [path, sort] : files)
    attempt(all.problems, [&, &path = path, sort = sort] {
      const fs::path folder = path.parent_path();
      const auto results = sort == FileSort::harness ? read_harness_file(path) : std::nullopt;
      if (results) add({*results}, folder);
      else if (sort == FileSort::table || sort == FileSort::harness) add_table(path);
      else if (sort == FileSort::wandb) add({read_wandb_file(path, all.problems)}, folder);
      else if (sort == FileSort::journal) add(read_optuna_journal(path, all.problems), folder);
      else if (sort == FileSort::database) add(read_sqlite_runs(path, all.problems), folder);
      else if (sort == FileSort::mlflow) add({read_mlflow_folder(path, all.problems)}, path);
    });
  for (ForeignRun& run : read_event_folders(files, all.problems)) {
    const fs::path folder = run.source;
    add({std::move(run)}, folder);
  }
  return all;
}

}  // namespace headroom::experiments
