#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/tools/judge/foreign_run.h"

namespace headroom::experiments {

class Database;

/// Does f(), and names in `problems` the Error that it threw.
template <class F>
void attempt(std::vector<std::string>& problems, const F& f) {
  try {
    f();
  } catch (const Error& error) {
    problems.emplace_back(error.what());
  }
}

// Files of programs that log runs. Each reads what is whole, and names the rest.

/// Adds a TensorBoard event file to its run: scalars by step, hyperparameters of the HParams plugin, how it ended.
void read_event_file(const std::filesystem::path& file, ForeignRun& run, std::vector<std::string>& problems);

/// The run of a W&B file, run-ID.wandb: its config, its history, and how it ended; one without an end is running.
ForeignRun read_wandb_file(const std::filesystem::path& file, std::vector<std::string>& problems);

/// The run in a folder of MLflow's file store, with params/, metrics/ and meta.yaml.
ForeignRun read_mlflow_folder(const std::filesystem::path& folder, std::vector<std::string>& problems);

/// The runs in a database of MLflow.
std::vector<ForeignRun> read_mlflow_database(const Database& database);

/// The trials in a database of Optuna.
std::vector<ForeignRun> read_optuna_database(const Database& database);

/// The trials in Optuna's journal file, whose lines are operations on studies and trials.
std::vector<ForeignRun> read_optuna_journal(const std::filesystem::path& file, std::vector<std::string>& problems);

/// The run in a file of results of lm-evaluation-harness: metrics "task/acc", and "task/acc,strict" where the filter is
/// not "none". Nothing for other JSON. Throws Error for what is none.
std::optional<ForeignRun> read_harness_file(const std::filesystem::path& file);

/// Puts the leaves of a JSON value into a run's parameters, by their dotted paths below `name`.
void add_json_parameters(ForeignRun& run, const std::string& name, const std::string& json);

}  // namespace headroom::experiments
