#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/studies/pages/csv.h"
#include "experiments/studies/results.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// Where a trial of a run store stands, found without its study's file.
struct StoredPlace {
  std::string study, profile;
  /// The keys of its config that differ between the trials of this store, the seed left out: "model.heads=4
  /// train.optimizer.lr=0.01".
  std::string config;
  std::map<std::string, std::string> settings{};  ///< the same: "model.heads" → "4"
  std::vector<std::string> tags{}, notes{};       ///< of its run

  /// "model.heads=4 train.optimizer.lr=0.01 seed 1".
  std::string words(const TrialRecord& trial) const;
};

/// A study's id: that of a TOML file, or the argument itself when there is no such file.
std::string study_id(const std::string& argument);

/// Every run under `out`, or those of the studies with these ids. Throws Error when a study that is asked for has no
/// run store, or when there is no store at all.
std::vector<StoredRun> runs_of_studies(const std::filesystem::path& out, const std::vector<std::string>& studies);

/// The trials of OUT/STUDY/PROFILE/store.sqlite, of all studies or of those whose ids are given.
class StoredTrials {
 public:
  /// Throws Error as runs_of_studies() does.
  StoredTrials(const std::filesystem::path& out, const std::vector<std::string>& studies)
      : runs_(runs_of_studies(out, studies)) {}

  /// Calls `f` with every trial, its series, x and choice empty as they belong to a plan, one in memory at a time,
  /// ordered by (study, profile, config, seed, id), numbers by their value: never by the time at which a trial ended.
  /// Throws Error as RunStore does.
  void each(const std::function<void(const StoredPlace&, const TrialRecord&)>& f) const;
  /// All keys of the trials' settings, without reading curves. Throws Error as each() does.
  std::set<std::string> keys() const;
  /// Store → how many of its trials have no checksum.
  std::vector<std::pair<std::string, int64_t>> unchecked() const;

 private:
  std::vector<StoredRun> runs_;
};

/// Takes the next piece of a text.
using TextSink = std::function<void(std::string_view)>;

/// One row per number, RFC 4180: study, profile, config, seed, trial, status, step, split, metric, value, and a column
/// for each key that differs between the trials of a store, empty in rows of stores where it does not. `split` is
/// train or validation along the training, at `step` updates; test and validation_judged of the weights that are
/// judged; or trial, for parameters, flops and seconds. Ordered by (study, profile, config, seed, step, split, metric).
/// Clock::left_out leaves the seconds out: equal results give equal bytes.
void export_csv(const StoredTrials& trials, Clock clock, const TextSink& out);

/// A list of trials with their whole config, in the same order; numbers that are not finite are null.
void export_json(const StoredTrials& trials, Clock clock, const TextSink& out);

/// Writes FOLDER/STUDY/PROFILE/TRIAL/events.out.tfevents.0.headroom for each trial: its history, and its scores at its
/// last step, as scalars "SPLIT/METRIC". Returns how many. Every wall time is 0, because no time is kept along a
/// trial: use the step axis. Throws Error when a file cannot be written.
size_t export_tensorboard(const StoredTrials& trials, const std::filesystem::path& folder);

/// Writes FOLDER/wandb/offline-run-START-ID/run-ID.wandb for each trial, a run that `wandb sync` uploads: config, a
/// line of history per step, the latest values and the scores as its summary, tags and notes of its study's run, exit
/// code 1 where it failed. The project is `project`, or else the study; the group is the profile. IDs are made of
/// study, profile and trial: to sync an export again changes the same runs. Folders of earlier exports of the same
/// trial are replaced. Returns how many. Throws Error when a file cannot be written.
size_t export_wandb(const StoredTrials& trials, const std::filesystem::path& folder, const std::string& project);

}  // namespace headroom::experiments
