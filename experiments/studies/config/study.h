#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/config/sweep.h"

namespace headroom::experiments {

/// One study file under one profile: its trials, and their report.
struct Study {
  std::string given;                 ///< the file or id it was loaded by; "" for a stored one
  std::string profile;               ///< of the file
  std::string run;                   ///< the name of its runs: run_name() of the profile and head.overrides
  StudyInfo head;                    ///< with every series' overlay in head.report
  std::vector<std::string> series;   ///< names of the curves, in order; {""} when there is only one without a name
  std::vector<PlannedTrial> trials;  ///< of the first round: of all, if a study has only one
  std::vector<PlannedTrial> later;   ///< those that further rounds may add (run/rounds.h)
  std::optional<SeedRule> seed_rule;
  std::vector<std::string> changes;  ///< profile_changes() from the study's own keys; none in their own profile
  std::string resolved;              ///< the file as TOML, with the profile and the settings in place
};

/// The profile of a file's own keys, which [profile.paper] may extend.
inline constexpr const char* base_profile = "paper";
/// The name of that profile in a file without profiles that repeats nothing from the paper (no study.paper).
inline constexpr const char* own_profile = "own";

/// Reads a study: a file, or a study's id (study_file()). Keys of [profile.PROFILE] replace the file's; those of each
/// [[series]] replace them for its trials (task, model, train, sweep and report.overlay); `settings` ("train.steps=10",
/// TOML) replace both, and sweeps; those that change trials or report become head.overrides, which gives the study's
/// runs a name of their own. Every profile of the file is checked, not only the chosen one. Throws ConfigError with all
/// that is wrong, Error when the file cannot be read, is not TOML, or has no such profile.
Study load_study(const std::string& file, const std::string& profile = base_profile,
                 const std::vector<std::string>& settings = {});

/// The study of a run, from the configuration that its store keeps (Study::resolved); `run` is its folder's name.
/// Throws ConfigError where this program does not know all of its keys.
Study stored_study(const std::string& resolved, const std::string& run);

/// The trials of a study, each id once, in the order of the plan.
std::vector<const PlannedTrial*> distinct_trials(const Study& study);

/// The study under each of its profiles, paper first. Throws as load_study() does.
std::vector<Study> load_profiles(const std::string& file);

}  // namespace headroom::experiments
