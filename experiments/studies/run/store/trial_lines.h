#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/studies/results.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {

// A run and its trials as lines of JSON, for files of published trials (export/published.h) and the shards of a shared
// store. A list of numbers is an array, or {"f32": array} where every number is one of f32, which then stand with no
// more digits than tell them apart there; null is not a number, "inf" and "-inf" are infinite. Reading gives the same
// bits. docs/running.md lists the keys.

/// Raised when older programs could not read what is written.
inline constexpr int64_t published_format = 1;

/// What such a file says of its run.
struct PublishedRun : RunFacts {
  std::string study, profile;  ///< the folders' names
  std::string version;         ///< of the program that wrote the file
  int64_t trials = 0;
  /// false: only what findings, claims and pages of results are made of. Left out are learning curves, predictions, and
  /// the parts of test metrics that the study's TOML does not name.
  bool is_whole = true;
};

/// Whether a text is one that trials' ids are: 32 hexadecimal digits.
bool is_trial_id(std::string_view id);

/// The line that describes a run, with the places of its plan whose trials are not in `ids`. Ends with a line feed.
std::string line_of_run(const PublishedRun& run, const std::set<std::string>& ids);
/// The line of a trial with its places in run.plan. Ends with a line feed.
std::string line_of_trial(const TrialRecord& trial, const PublishedRun& run, const std::vector<size_t>& places);

/// What line_of_run() wrote; the places go to `plan`, by position. Throws Error that says what is wrong with the line.
PublishedRun run_from_line(const std::string& line, std::map<int64_t, PlanEntry>& plan);
/// What line_of_trial() wrote, without series, x, choice and seed, which go to `plan`, and without weights. Throws
/// Error as above.
TrialRecord trial_from_line(const std::string& line, bool is_whole, std::map<int64_t, PlanEntry>& plan);
/// The same of a whole line that has weights, too, and the instruction set of the kernels that trained it, which goes
/// to `level`.
TrialRecord shard_trial_from_line(const std::string& line, std::string& level);

}  // namespace headroom::experiments
