#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace headroom::experiments {

/// How far a sweep is: a bar that is redrawn on a terminal, a line every few seconds in a log (standard error, both).
/// Calls come from several threads.
class Progress {
 public:
  /// `total` trials of the plan, `done` of them known from before; `cost` is what the others will take, in any unit.
  Progress(int64_t total, int64_t done, double cost, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  struct Step {
    std::string label;  ///< "heads=64 lr=0.003 seed=1"
    int64_t step = 0, steps = 1;
    double loss = 0;
    double cost = 0;  ///< of the whole trial
  };
  /// What a worker is doing.
  void update(int worker, const Step& step);
  void finish_trial(int worker, double cost);
  /// A whole line above the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(bool now);
  void erase();

  std::mutex mutex_;
  int64_t total_, done_;
  double cost_, spent_ = 0;
  bool quiet_, on_terminal_, drawn_ = false;
  std::vector<Step> workers_;
  size_t latest_ = 0;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

/// "0:31", "1:02:10".
std::string clock_text(double seconds);

}  // namespace headroom::experiments
