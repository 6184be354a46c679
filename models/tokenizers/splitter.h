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

/// Qwen 2's pattern: Llama 3's with single digits.
extern const char* const qwen2_pattern;

/// Cuts text at the matches of a Perl regular expression: each match is a piece, and so is each stretch between
/// matches, including invalid UTF-8. The pieces together are the text. May serve many threads.
class Splitter {
 public:
  /// Throws Error with the place if the pattern does not compile.
  explicit Splitter(const std::string& pattern);
  ~Splitter();
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;

  /// The pattern as given.
  const std::string& pattern() const { return pattern_; }
  /// Appends the pieces of `text` to `pieces`. Throws Error if the engine gives up on a user's pattern.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  std::string pattern_;
};

/// Replaces `\s` and `\S` by Unicode's White_Space, as Python, Rust and Oniguruma read them: PCRE2's `\s` also contains
/// U+180E. A `\S` within brackets stays.
std::string with_unicode_spaces(const std::string& pattern);

}  // namespace headroom::models
