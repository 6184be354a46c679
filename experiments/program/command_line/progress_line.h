#pragma once
#include <chrono>
#include <string>

#include "experiments/studies/run/time_left.h"

namespace headroom::experiments {

/// A line on standard error that is written over while something runs, where that is a terminal. It goes with the
/// object. What takes minutes is announced in a line that stays, on a terminal or not, once its first parts show its
/// pace.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What is done, and the share of the work that it is, from which the time left follows; a share that falls begins
  /// another work. Drawn at most ten times a second.
  void show(const std::string& done, double share);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_, has_line_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  TimeLeft drawn_{}, said_{};
};

}  // namespace headroom::experiments
