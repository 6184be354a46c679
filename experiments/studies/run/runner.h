#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/config/study.h"
#include "experiments/studies/run/progress.h"

namespace headroom::experiments {

/// Is told of one trial by the thread that trains it. No function may throw.
class TrialWatcher {
 public:
  virtual ~TrialWatcher() = default;
  /// The curve so far: when the training begins, with what a checkpoint had, and whenever points were added.
  virtual void curve(const std::vector<HistoryPoint>& so_far) = 0;
  /// How it ended, once that is kept. A trial that was stopped has not ended.
  virtual void end(const TrialRecord& trial) = 0;
};

/// Makes a trial's watcher; `warn` takes lines for the user, as long as the watcher lives.
using WatchTrial = std::function<std::unique_ptr<TrialWatcher>(const PlannedTrial&,
                                                               const std::function<void(const std::string&)>& warn)>;

struct RunOptions {
  std::filesystem::path out = "runs";
  int jobs = 0;     ///< trials at once; 0: wanted_jobs() (run/jobs.h)
  int threads = 0;  ///< of all trials together; 0: engine::num_threads()
  tasks::DataRoots data{};
  ProgressOutput output = ProgressOutput::text;
  const std::atomic<bool>* stop = nullptr;  ///< raised from outside (a signal): end soon, keep what is finished
  tasks::Ranks* ranks = nullptr;            ///< those that train each trial together; this is the first of them
  bool is_shared = false;                   ///< the study's folder is one that several hosts share (share_run())
  /// Is told, before a further round begins, what those so far have come to, their number, and what the next one adds.
  std::function<void(const Analysis& results, int64_t rounds, const std::string& next)> after_round{};
  /// Is told in a round, of a study with several series, of each that now has all its trials: what those that do have
  /// come to. Returns lines to say. Called by one thread at a time, of those that train.
  std::function<std::vector<std::string>(const Analysis& so_far, const std::string& series)> after_series{};
  WatchTrial watch{};  ///< makes a watcher for each trial that this process trains
};

/// OUT/STUDY/PROFILE: the store, and the report's files. Settings that change trials or report have a folder of their
/// own, OUT/STUDY/PROFILE+KEY=VALUE (config/overrides.h), so that they never replace the report of the study as its
/// file has it; trials of theirs that its store has are copied.
std::filesystem::path study_folder(const Study& study, const std::filesystem::path& out);

/// Runs the trials of a study that its store does not know as finished, round by round (run/rounds.h), and keeps each
/// outcome at once. Several processes may do so on one store: they share the trials. False when it was stopped before
/// the end; a trial that was begun then goes on from its checkpoint. Throws Error when an outcome cannot be kept, and
/// as check_same_data(). Metrics do not depend on jobs, threads, processes or stops.
bool run_trials(const Study& study, const RunOptions& options);

/// What a rank other than the first does meanwhile: trains each trial that the first one names with it, until that says
/// by an empty name that all is done. It neither reads nor writes the study's folder.
void follow_trials(const Study& study, const RunOptions& options);

/// A study's head and the plan of its first round, without any trial.
StudyResults planned_results(const Study& study);

/// Whether the study has a store, and so results to collect.
bool has_store(const Study& study, const std::filesystem::path& out);

/// What the store knows of a study's trials: the input of reports and verdicts. Throws Error when there is no store.
StudyResults collect_results(const Study& study, const std::filesystem::path& out);

}  // namespace headroom::experiments
