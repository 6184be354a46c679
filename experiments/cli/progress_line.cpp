#include "experiments/cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace headroom::experiments {

ProgressLine::ProgressLine() : is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (has_line_) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::show(const std::string& done, double share) {
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (has_line_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  has_line_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  fmt::print(stderr, "\r\033[K{}  {:.0f} s left", done, seconds * (1 - share) / share);
  std::fflush(stderr);
}

}  // namespace headroom::experiments
