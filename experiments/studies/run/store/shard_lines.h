#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/studies/results.h"
#include "experiments/studies/run/store.h"
#include "experiments/studies/run/store/open_file.h"

namespace headroom::experiments {

/// A line with more bytes is not read, and not written.
inline constexpr size_t longest_shard_line = size_t{1} << 26;

/// A trial of a shard.
struct ShardLine {
  TrialRecord trial;
  std::string level;  ///< engine::kernel_level() of who trained it; of earlier programs the instruction set alone
  std::string shard;  ///< the file's name
  int64_t number = 0;
};

/// A line of JSON, "{…}\n", with `more` and its own checksum as its last members.
std::string sealed_line(std::string line, const std::string& more);
/// The checksum of a line, without its line feed, that is as sealed_line() left it; "" where it is not.
std::string_view seal_of(std::string_view line);

/// What append() writes of a trial.
std::string shard_line_of(const TrialRecord& trial);
/// What that says. Throws Error for a line without a seal, and for what this program does not read.
ShardLine parse_shard_line(std::string_view line, std::string_view seal);
/// plan.json and notes.json likewise.
std::string facts_line_of(const RunFacts& facts);
RunFacts parse_facts_line(std::string_view line);

/// The lines of a file from a byte on, up to where it ends now: one that grows is not read for ever, and no more of it
/// is in memory than a line.
class LineScanner {
 public:
  LineScanner(const OpenFile& file, size_t from, size_t to) : file_(file), at_(from), to_(to), place_(from) {}

  /// The next line, without its line feed, until the next call; none at the end, and behind a line that is too long.
  std::optional<std::string_view> next();
  /// Where the line that comes next begins.
  size_t place() const { return place_; }
  /// What is there after the last line feed.
  std::string_view rest() const { return {buffer_.get() + begin_, end_ - begin_}; }
  bool is_too_long() const { return end_ - begin_ >= longest_shard_line; }

 private:
  bool read_more();

  const OpenFile& file_;
  std::unique_ptr<char[]> buffer_;  ///< bytes [begin_, end_) of it are not used yet
  size_t capacity_ = 0, begin_ = 0, end_ = 0, at_, to_, place_;
};

}  // namespace headroom::experiments
