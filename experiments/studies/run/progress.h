#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/results.h"

namespace headroom::experiments {

/// A worker's progress on a trial.
struct TrialStep {
  std::string trial, label;  ///< id; "heads=64 lr=0.003 seed=1"; "" for none
  int64_t step = 0, steps = 1;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double cost = 0;  ///< of the whole trial
};

/// The content of a run's line on a terminal.
struct ProgressText {
  int64_t done = 0, total = 0;   ///< trials
  double fraction = 0;           ///< of the whole
  std::optional<double> left;    ///< seconds; none before any training
  std::optional<double> most{};  ///< seconds with every round that there may be, if there are further ones
  double so_far = 0;             ///< seconds
  std::optional<double> gflops;  ///< per second of the whole run
  TrialStep shown;               ///< a trial that is being trained
};

/// One line of at most `columns` characters: the time left first, with that of all rounds, then trials, loss and
/// GFLOP/s, which nothing displaces; then, as far as there is room, a bar of 4 to 28 cells, step, label and the time so
/// far. What does not fit even so is cut from the right. With 0 columns, for a log, everything but the bar.
std::string progress_text(const ProgressText& at, int columns);

/// "0:31", "1:02:10".
std::string clock_text(double seconds);

/// The form of a run's progress report. `text`: on standard error, as a bar on a terminal and plain lines in a log.
/// `events`: JSON, one event per line, on standard output.
enum class ProgressOutput { text, none, events };

/// The work whose progress is shown.
struct ProgressScope {
  std::string study, profile;
  int64_t total = 0, done = 0;  ///< trials of the plan; those known from before
  double cost = 0;              ///< FLOPs of the others
  double later = 0;             ///< FLOPs of the trials that further rounds may add
  std::string metric;           ///< shown for each finished trial
};

/// How far a sweep is. On a terminal: a line per trial that ended, and below them one for the study: time left, loss,
/// rate and a bar (progress_text()); no colours when NO_COLOR is set. In a log: a plain line every few seconds, and one
/// per failure. Calls come from several threads.
class Progress {
 public:
  Progress(ProgressScope scope, ProgressOutput output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Updates a worker's state.
  void update(int worker, const TrialStep& step);
  /// Records the end of a worker's trial.
  void finish_trial(int worker, const TrialRecord& trial, double cost);
  /// Records that another process finished a trial of the plan.
  void finish_elsewhere(double cost);
  /// Prints a whole line above the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    TrialStep now;
    int64_t from = 0;  ///< the step that this process began at
  };
  ProgressText state() const;
  void draw(bool now);
  void erase();
  void print(const std::string& line);

  std::mutex mutex_;
  const ProgressScope scope_;
  const ProgressOutput output_;
  const bool on_terminal_, has_colours_;
  int64_t done_;
  double ended_ = 0;    ///< cost of trials that have ended since the start
  double trained_ = 0;  ///< the part of it that this process trained
  bool drawn_ = false;
  std::vector<Worker> workers_;
  size_t latest_ = 0, shown_ = 0;  ///< workers: of the next event, of the line
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

}  // namespace headroom::experiments
