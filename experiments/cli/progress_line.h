#pragma once
#include <chrono>
#include <string>

namespace headroom::experiments {

/// A line on standard error that is written over while something runs, where that is a terminal. It goes with the
/// object.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What is done, and the share of the whole that it is, from which the time left follows. At most ten times a second.
  void show(const std::string& done, double share);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_terminal_, has_line_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace headroom::experiments
