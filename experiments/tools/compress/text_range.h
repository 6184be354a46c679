#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Tokens [begin, end) of a text file, as a command names them.
struct TextRange {
  std::string file, sha256;
  int64_t begin = 0, end = 0;
  std::vector<int32_t> tokens{};  ///< those
  int64_t count() const { return end - begin; }
};

/// Of a file with the ids `all`, the range "A:B" ("A:" to its end, ":B" or "B" from its beginning); "": the first
/// `usual`, or all where there are fewer. `option`: how the range is given, for messages. Throws Error naming file and
/// range where the range is none, or not in the text.
TextRange text_range(const std::string& file, const std::vector<int32_t>& all, const std::string& range, int64_t usual,
                     const std::string& option);

/// Throws Error naming both texts with their hashes, and what the first is for ("calibration"), where they have tokens
/// in common: ranges of one file (or of a copy of it) that overlap, or 64 tokens in a row that are in both.
void require_disjoint(const char* use, const TextRange& text, const TextRange& evaluation);

}  // namespace headroom::experiments
