#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/studies/export/gzip_lines.h"
#include "experiments/studies/results.h"
#include "experiments/studies/run/store/trial_lines.h"

namespace headroom::experiments {

// The trials of a run store as a file that can be kept in a repository: STUDY/PROFILE.jsonl.gz. A line of JSON says
// what the file is, then comes a line per trial in the order of their ids (run/store/trial_lines.h).

/// Writes one such file.
class PublishedWriter {
 public:
  /// `ids`: of the trials to come. Throws Error naming what cannot be written.
  PublishedWriter(const std::filesystem::path& path, PublishedRun run, const std::set<std::string>& ids);
  /// In the order of the ids.
  void add(const TrialRecord& trial);
  /// Ends the file, which then has its name. Throws Error naming it.
  void commit();

 private:
  GzipFile file_;
  PublishedRun run_;
  std::map<std::string, std::vector<size_t>> places_;  ///< of a trial in run_.plan
};

/// Reads one, and takes nothing on trust: a trial's id is the hash of its config, numbers are in range, lists of one
/// table are of one length, names are folders'.
class PublishedReader {
 public:
  /// Reads the first line. Throws Error "FILE:LINE: …", as next() does.
  explicit PublishedReader(const std::filesystem::path& path, const LineLimits& limits = {});
  /// The next trial, without series, x, choice and seed, which belong to the plan, and without weights, which stay
  /// behind; false after the last. Throws Error for a line that is not as it should be, and at the end where
  /// trials are missing.
  bool next(TrialRecord& trial);
  /// What the first line says; its plan is complete when next() has returned false.
  const PublishedRun& run() const { return run_; }

 private:
  LineReader lines_;
  PublishedRun run_;
  std::map<int64_t, PlanEntry> plan_;  ///< by position
  std::string last_;                   ///< id
  int64_t count_ = 0;
  bool has_ended_ = false;
};

}  // namespace headroom::experiments
