#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "experiments/studies/results.h"
#include "experiments/studies/run/progress_text.h"

namespace headroom::experiments {

/// How a run reports its progress. `text`: on standard error, as a bar on a terminal and plain lines in a log.
/// `events`: JSON, one event per line, on standard output.
enum class ProgressOutput { text, none, events };

/// What a progress is of.
struct ProgressScope {
  std::string study, profile;
  int64_t total = 0, done = 0;  ///< trials of the plan; those known from before
  double cost = 0;              ///< FLOPs of the others
  std::string metric;           ///< shown for each finished trial
};

/// How far a sweep is. On a terminal: a line per trial that ended, and below them one for the study: time left, loss,
/// rate and a bar (progress_text.h); no colours when NO_COLOR is set. In a log: a plain line every few seconds, and one
/// per failure. Calls come from several threads.
class Progress {
 public:
  Progress(ProgressScope scope, ProgressOutput output);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  struct Step {
    std::string trial, label;  ///< id; "heads=64 lr=0.003 seed=1"
    int64_t step = 0, steps = 1;
    double loss = 0;
    double cost = 0;  ///< of the whole trial
  };
  /// What a worker is doing.
  void update(int worker, const Step& step);
  /// A worker's trial came to an end.
  void finish_trial(int worker, const std::string& label, const TrialRecord& trial, double cost);
  /// Another process finished a trial of the plan.
  void finish_elsewhere(double cost);
  /// A whole line above the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    Step now;
    int64_t from = 0;  ///< the step that this process began at
  };
  ProgressText state() const;
  void draw(bool now);
  void erase();
  void print(const std::string& line);
  std::string coloured(const std::string& text) const;
  double elapsed() const;

  std::mutex mutex_;
  const ProgressScope scope_;
  const ProgressOutput output_;
  const bool on_terminal_, has_colours_;
  int64_t done_;
  double ended_ = 0;    ///< cost of trials that ended since the start
  double trained_ = 0;  ///< cost of what was trained by this process in them
  bool drawn_ = false;
  std::vector<Worker> workers_;
  size_t latest_ = 0;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

}  // namespace headroom::experiments
