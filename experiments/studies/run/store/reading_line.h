#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace headroom::experiments {

/// A line on a terminal that says how far the reading of a large store is, written over until the reading ends, when it
/// is taken away: "reading runs/x/quick/store.sqlite: 12000 of 40000 trials".
class ReadingLine {
 public:
  /// `total` 0: not known. `out` null: nothing is written; else nothing before `least_seconds` have gone by.
  ReadingLine(std::string name, int64_t total, std::FILE* out, double least_seconds = 1);
  ~ReadingLine();
  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;
  /// One more trial was read.
  void step();

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  int64_t total_, done_ = 0;
  std::FILE* out_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

/// Where such a line goes: standard error where it is a terminal, else nowhere.
std::FILE* reading_line_output();

}  // namespace headroom::experiments
