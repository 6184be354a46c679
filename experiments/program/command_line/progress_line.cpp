#include "experiments/program/command_line/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "experiments/output/units.h"
#include "experiments/program/command_line/standard_streams.h"

namespace headroom::experiments {

ProgressLine::ProgressLine(std::vector<std::string> steps)
    : steps_(std::move(steps)), is_terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (has_line_) fmt::print(stderr, "\r\033[K");
}

std::string ProgressLine::counted(const std::string& done) {
  const auto name = std::find(steps_.begin(), steps_.end(), done.substr(0, done.find(':')));
  if (name == steps_.end() || steps_.size() == 1) return done;
  const size_t step = static_cast<size_t>(name - steps_.begin()) + 1;
  if (std::exchange(step_, step) != step) is_announced_ = false;
  if (!is_terminal_ && !is_announced_ && Clock::now() - start_ > std::chrono::seconds(2)) {
    is_announced_ = true;
    write_note(fmt::format("headroom: {} of {}: {}", step, steps_.size(), *name));
  }
  return fmt::format("{} of {}: {}", step, steps_.size(), done);
}

void ProgressLine::show(const std::string& what, double share) {
  constexpr double worth_a_word = 60;
  const std::string done = counted(what);
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (const std::optional<double> left = said_.to_say(share, seconds, worth_a_word)) {
    if (has_line_) fmt::print(stderr, "\r\033[K");
    write_note(fmt::format("headroom: {}: what is left takes about {} by estimate", done, seconds_text(*left)));
  }
  const std::optional<double> left = drawn_.at(share, seconds);
  if (!is_terminal_) return;
  if (has_line_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  has_line_ = true;
  fmt::print(stderr, "\r\033[K{}{}", one_line(done), left ? fmt::format("  {:.0f} s left", *left) : "");
  std::fflush(stderr);
}

}  // namespace headroom::experiments
