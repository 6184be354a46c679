#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace headroom::experiments {

/// What a run's line on a terminal says.
struct ProgressText {
  int64_t done = 0, total = 0;         ///< trials
  double fraction = 0;                 ///< of the whole
  std::optional<double> left;          ///< seconds; none before anything was trained
  double so_far = 0;                   ///< seconds
  std::optional<double> loss, gflops;  ///< of the latest step; per second of the whole run
  std::string label;                   ///< of the latest trial, "heads=64 lr=0.003 seed=1"; "" for none
  int64_t step = 0, steps = 0;         ///< of that trial
};

/// One line of at most `columns` characters: the time left first, then trials, loss and GFLOP/s, which nothing
/// displaces; then, as far as there is room, a bar of 4 to 28 cells, step, label and the time so far. What does not fit
/// even so is cut from the right. With 0 columns, for a log, everything but the bar.
std::string progress_text(const ProgressText& at, int columns);

/// "0:31", "1:02:10".
std::string clock_text(double seconds);

}  // namespace headroom::experiments
