#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/results.h"
#include "experiments/studies/run/stored_runs.h"

namespace headroom::experiments {

/// Where a trial of a run store stands, found without its study's file.
struct StoredPlace {
  std::string study, profile;
  /// The keys of its config that differ between the trials of this store, the seed left out: "model.heads=4
  /// train.optimizer.lr=0.01".
  std::string config;
  std::vector<std::string> tags{}, notes{};  ///< of its run

  /// "model.heads=4 train.optimizer.lr=0.01 seed 1".
  std::string words(const TrialRecord& trial) const;
};

/// The trials of OUT/STUDY/PROFILE/store.sqlite, of all studies or of those whose ids are given.
class StoredTrials {
 public:
  /// Throws Error when a study that is asked for has no store, or when there is no store at all.
  StoredTrials(const std::filesystem::path& out, const std::vector<std::string>& studies);

  /// Calls `f` with every trial, its series, x and choice empty as they belong to a plan, one in memory at a time,
  /// ordered by (study, profile, config, seed, id), numbers by their value: never by the time at which a trial ended.
  /// Throws Error as RunStore does.
  void each(const std::function<void(const StoredPlace&, const TrialRecord&)>& f) const;
  /// Store → how many of its trials have no checksum.
  std::vector<std::pair<std::string, int64_t>> unchecked() const;

 private:
  std::vector<StoredRun> runs_;
};

/// A study's id: that of a TOML file, or the argument itself when there is no such file.
std::string study_id(const std::string& argument);

}  // namespace headroom::experiments
