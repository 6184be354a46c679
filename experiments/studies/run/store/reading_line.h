#pragma once
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace headroom::experiments {

/// A line on a terminal that says how far the reading of a large store is, written over until the reading ends, when it
/// is taken away: "reading runs/x/quick/store.sqlite: 12000 of 40000 trials".
class ReadingLine {
 public:
  /// `total` 0: not known. `out` null: nothing is written; else nothing before `least_seconds` have gone by.
  ReadingLine(std::string name, int64_t total, std::FILE* out, double least_seconds = 1)
      : name_(std::move(name)), total_(total), out_(out), next_(Clock::now() + duration(least_seconds)) {}
  ~ReadingLine() {
    if (is_shown_) fmt::print(out_, "\r\033[K");
  }
  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;

  /// One more trial was read.
  void step() {
    constexpr int64_t trials_per_look = 64;  // at the clock
    if (++done_ % trials_per_look != 0 || out_ == nullptr || Clock::now() < next_) return;
    const std::string of = total_ > 0 ? fmt::format(" of {}", total_) : "";
    fmt::print(out_, "\r\033[Kreading {}: {}{} trials", name_, done_, of);
    std::fflush(out_);
    is_shown_ = true;
    next_ = Clock::now() + duration(0.25);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  std::string name_;
  int64_t total_, done_ = 0;
  std::FILE* out_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace headroom::experiments
