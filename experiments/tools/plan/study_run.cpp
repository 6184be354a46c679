#include "experiments/tools/plan/study_run.h"

#include <fmt/ranges.h>

#include <map>
#include <set>

#include "engine/error.h"
#include "experiments/studies/run/rounds.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/run/store/shared_folder.h"
#include "models/files/mapped_file.h"
#include "tasks/training/checkpoint.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// The study as the run resolved it; none when the folder has no such file, or with `problem` one that this program
/// cannot read.
std::optional<Study> resolved_study(const fs::path& folder, std::string& problem) {
  const fs::path file = folder / "config.toml";
  if (!fs::is_regular_file(file)) return std::nullopt;
  try {
    return load_study(file.string());
  } catch (const Error& error) {
    problem = error.what();  // of another version: what the store itself knows remains
    return std::nullopt;
  }
}

}  // namespace

StudyRun::StudyRun(const std::string& run, const std::string& series) : name_(run) {
  const fs::path path = fs::is_directory(run) ? fs::path(run) / "store.sqlite" : fs::path(run);
  require(fs::is_regular_file(path) || is_shared(path.parent_path()),
          "--from-study: {}: no run store; give a folder like runs/ngram-tradeoff/quick", run);
  folder_ = path.parent_path();
  study_ = resolved_study(folder_, problem_);
  std::map<std::string, const TrialConfig*> configs;
  if (study_)
    for (const auto* planned : {&study_->trials, &study_->later})
      for (const PlannedTrial& trial : *planned) configs[trial.id] = &trial.config;
  std::set<std::string> known;
  try {
    const RunStore store(path, RunStore::Access::read);
    say_faults(store);
    // The configs of a plan come from that file: a bit flipped there would change it as one in the store would.
    const auto facts = store.study();
    const auto kept = facts.find("config");
    require(!study_ || kept == facts.end() ||
                models::MappedFile(folder_ / "config.toml", models::run_file).text() == kept->second,
            "{}: is not the study whose plan the store holds; headroom run STUDY writes both again",
            (folder_ / "config.toml").string());
    unchecked_ = store.unchecked();
    Records records;
    store.each([&](TrialRecord&& record) { records.emplace(record.id, std::move(record)); });
    std::set<std::string> planned;
    std::vector<TrialRecord> failed;
    for (const PlanEntry& entry : store.plan()) {
      known.insert(entry.series);
      if (!series.empty() && entry.series != series) continue;
      planned.insert(entry.id);
      const auto found = records.find(entry.id);
      if (found == records.end()) continue;
      TrialRecord record = in_place(found->second, entry);
      if (record.status == TrialStatus::failed) {
        failed.push_back(std::move(record));
        continue;
      }
      const auto config = configs.find(entry.id);
      trials_.push_back({std::move(record), entry.label, config == configs.end() ? nullptr : config->second});
    }
    if (study_) {
      StudyResults results = planned_results(*study_);
      results.profile = folder_.filename().string();  // the run's file has its profile's keys as its own
      results.looks = plan_rounds(*study_, records).looks;
      results.planned = std::ssize(planned);
      for (const Trial& trial : trials_) results.trials.push_back(trial.record);
      results.trials.insert(results.trials.end(), failed.begin(), failed.end());
      results_ = analyse(std::move(results));
    }
  } catch (const Error& error) {
    fail("--from-study: {}", error.what());
  }
  require(series.empty() || known.count(series), "--series: {} has no series \"{}\": expected one of {}", run, series,
          fmt::join(known, ", "));
}

fs::path StudyRun::weights_of(const Trial& trial) const {
  const fs::path file = folder_ / "weights" / (trial.record.id + ".safetensors");
  if (!fs::is_regular_file(file)) return {};
  try {
    const std::string checksum = tasks::check_weights(models::SafetensorsFile(file));
    require(trial.record.weights.empty() || checksum == trial.record.weights,
            "{}: trial {}: its weights are not those of its row in the store", file.string(), trial.record.id);
  } catch (const Error& error) {
    fail("--from-study: {}", error.what());
  }
  return file;
}

double validation_error(const TrialRecord& trial) {
  for (const char* metric : {"relative_mse", "mse", "cross_entropy"})
    if (const auto found = trial.validation.find(metric); found != trial.validation.end()) return found->second;
  fail("--from-study: trial {} has no validation error", trial.id);
}

}  // namespace headroom::experiments
