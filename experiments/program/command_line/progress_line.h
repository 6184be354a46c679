#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "experiments/studies/run/time_left.h"

namespace headroom::experiments {

/// A status line on standard error, if that is a terminal, redrawn while something runs and erased with the object.
/// Work of over a minute is also announced once by a line that stays, on a terminal or not, as soon as its first parts
/// show the pace. Where the line cannot be drawn, steps of a work that has several are announced once it
/// has taken two seconds.
class ProgressLine {
 public:
  /// `steps`: names in their order; show() is told "NAME: …" of one of them, and counts it: "2 of 5: NAME: …".
  explicit ProgressLine(std::vector<std::string> steps = {});
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows the progress and the share of the work done, from which the time left follows; a falling share starts
  /// another work. Drawn at most ten times a second.
  void show(const std::string& done, double share);

 private:
  using Clock = std::chrono::steady_clock;
  std::string counted(const std::string& done);

  std::vector<std::string> steps_;
  size_t step_ = 0;  ///< counted from 1; 0: none yet
  bool is_announced_ = false, is_terminal_, has_line_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  TimeLeft drawn_{}, said_{};
};

}  // namespace headroom::experiments
