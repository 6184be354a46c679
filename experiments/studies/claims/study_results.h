#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/studies/claims/claim_config.h"
#include "experiments/studies/claims/looks.h"
#include "experiments/studies/results.h"

namespace headroom::experiments {

/// How runs of other programs are judged, of which only the claims file says how they were made.
struct ForeignRules {
  std::set<std::string> larger_is_better;  ///< metrics that are so, besides those whose names say it
  bool has_seeds = true;                   ///< false where nothing tells which runs share a seed: then none are paired
};

/// What became of claims that `headroom register` sealed (config/seal.h).
struct SealedClaims {
  int64_t at = 0;                    ///< seconds since 1970
  std::string begun_before;          ///< "12 trials (seeds 1 to 3)": those that had begun by then; "" for none
  std::vector<std::string> changes;  ///< what has changed since, a line each
  bool has_dates = false;            ///< whether all trials say when they ran
};

/// Everything a report is made of. Nothing in it depends on the order in which trials ended.
struct StudyResults {
  std::string id, title, paper;
  std::string question;                 ///< that the study asks; "" for none
  StudyAnswer answer;                   ///< the author's, which the verdicts may bear out or not
  std::string given, out;               ///< the study's file or id and the folder of runs, as the command line has them
  std::string guide;                    ///< heading of the guide's section that shows all its claims; "" for none
  std::string profile;                  ///< with what settings change: "quick+train.steps=10"
  std::vector<std::string> overrides;   ///< those settings as given, "train.steps=10"; none in most reports
  std::vector<std::string> deviations;  ///< from what the paper did
  std::vector<std::string> changes;     ///< what the profile trains and the study's own keys do not
  ReportConfig report;
  std::vector<std::string> series;
  std::vector<ClaimConfig> claims;
  size_t claims_to_come = 0;  ///< others, still to be measured: in Holm's order their p-values count as 1
  std::vector<TrialRecord> trials;
  LooksTaken looks;
  std::optional<ForeignRules> foreign;            ///< none where we trained the trials
  std::optional<SealedClaims> seal;               ///< none where claims were not sealed
  int64_t planned = 0;                            ///< trials of the whole sweep, of its rounds so far
  int64_t running = 0;                            ///< of them, those that a process is training now
  std::vector<std::string> rounds;                ///< what rounds after the first added and could not; a line each
  int64_t left_out = 0;                           ///< finished trials of the store that are not in the plan
  int64_t unchecked = 0;                          ///< of the store's trials, those without a checksum
  std::string resolved_config;                    ///< TOML
  std::map<std::string, std::string> data;        ///< file → SHA-256 of everything that the trials read
  std::map<std::string, std::string> provenance;  ///< version, compiler, CPU, ISA, threads, libraries, wall time
};

/// Each trial once: series of a study may share some, which stand there for each. Those without an id are all
/// different.
std::vector<const TrialRecord*> each_once(const std::vector<TrialRecord>& trials);
/// How many those are.
int64_t count_trials(const std::vector<TrialRecord>& trials);

/// How many of the trials failed.
int64_t count_failed(const StudyResults& results);

/// Clock time of all trials, in seconds.
double training_seconds(const StudyResults& results);

/// Clock time in which at least one trial was being trained, in seconds: what the study took, pauses left out.
double wall_seconds(const StudyResults& results);

/// Whether the verdicts are a pilot's: a profile that is not the study's own settings trains smaller and shorter. What
/// is computed alone, without a model or a text, is no pilot.
bool is_pilot(const StudyResults& results);

}  // namespace headroom::experiments
