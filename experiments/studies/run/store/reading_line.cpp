#include "experiments/studies/run/store/reading_line.h"

#include <fmt/format.h>
#include <unistd.h>

namespace headroom::experiments {
namespace {

constexpr int64_t trials_per_look = 64;  ///< at the clock
constexpr auto refresh = std::chrono::milliseconds(250);

}  // namespace

ReadingLine::ReadingLine(std::string name, int64_t total, std::FILE* out, double least_seconds)
    : name_(std::move(name)),
      total_(total),
      out_(out),
      next_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(least_seconds))) {}

ReadingLine::~ReadingLine() {
  if (is_shown_) fmt::print(out_, "\r\033[K");
}

void ReadingLine::step() {
  if (++done_ % trials_per_look != 0 || out_ == nullptr || Clock::now() < next_) return;
  const std::string of = total_ > 0 ? fmt::format(" of {}", total_) : "";
  fmt::print(out_, "\r\033[Kreading {}: {}{} trials", name_, done_, of);
  std::fflush(out_);
  is_shown_ = true;
  next_ = Clock::now() + refresh;
}

std::FILE* reading_line_output() { return isatty(STDERR_FILENO) != 0 ? stderr : nullptr; }

}  // namespace headroom::experiments
