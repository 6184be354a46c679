#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models {

/// GPT-2's pattern (Radford et al., 2019; encoder.py of the release).
extern const char* const gpt2_pattern;
/// Llama 3's pattern (tokenizer.py of the release).
extern const char* const llama3_pattern;

/// Qwen 2's: Llama 3's with single digits.
extern const char* const qwen2_pattern;

/// Cuts text at the matches of a Perl regular expression: every match is a piece, and so is every stretch between two
/// matches, invalid UTF-8 among them. The pieces in order are the text. May serve many threads.
class Splitter {
 public:
  /// Throws Error with the place when the pattern does not compile.
  explicit Splitter(const std::string& pattern);
  ~Splitter();
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;

  /// As it was given.
  const std::string& pattern() const { return pattern_; }
  /// Appends the pieces of `text` to `pieces`. Throws Error when the engine gives up on a pattern of its user's.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  std::string pattern_;
};

/// Unicode's White_Space in place of `\s` and `\S`, as Python, Rust and Oniguruma read them: PCRE2's `\s` also holds
/// U+180E. A `\S` within brackets stays.
std::string with_unicode_spaces(const std::string& pattern);

}  // namespace headroom::models
