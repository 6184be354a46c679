#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/run/store.h"

namespace headroom::experiments {

enum class TrialPhase { to_do, running, finished, failed };

/// "to do", "running", "finished", "failed".
const char* name_of(TrialPhase phase);

/// One trial of a store's plan, as it stands.
struct TrialState {
  PlanEntry entry;
  TrialPhase phase = TrialPhase::to_do;
  int64_t attempts = 0;  ///< number of times it has ended
  int64_t step = 0;      ///< updates done
  int64_t steps = 0;     ///< updates planned, if a process has said so; else 0
  /// The latest training loss of a running trial; NaN if there is none.
  double loss = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;        ///< of training, once it has ended
  std::string message{};     ///< why it failed
  int64_t process = 0;       ///< that trains the trial
  double silence = 0;        ///< seconds since that process was heard of
  bool is_orphaned = false;  ///< a process began it and is gone: the next run goes on from its checkpoint
};

/// The state of a store's latest run.
struct RunState {
  std::string title;
  int64_t round = 1, most_rounds = 0;  ///< the present one; how many there may be, 0 where a store does not say
  std::vector<TrialState> trials;      ///< each once, in the order of the plan
  int64_t finished = 0, failed = 0, running = 0;
  int64_t most_trials = 0;  ///< of all possible rounds
  /// Estimated seconds until this round's trials have ended: those to do as long as finished ones of the same place in
  /// the figure, as many at once as now. None where nothing can be said, or nobody trains.
  std::optional<double> seconds_left;
  std::optional<double> most_seconds_left;  ///< the same for all rounds, with every trial that they may train
  std::vector<std::string> tags;
  std::vector<Note> notes;

  int64_t planned() const { return static_cast<int64_t>(trials.size()); }
  int64_t to_do() const { return planned() - finished - failed - running; }
  /// True if every planned trial has ended.
  bool is_complete() const { return running == 0 && to_do() == 0; }
};

/// Reads the state in one go, without the trials' scores and curves. Throws Error as RunStore's functions do.
RunState read_run_state(const RunStore& store);

/// Keeps each lease on its line, and gives a new one the line of an ended trial, so that a watched display keeps still.
/// `lines`: trials as last shown.
void keep_lines(std::vector<Lease>& leases, std::vector<std::string>& lines);

}  // namespace headroom::experiments
