#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::models::jinja {

class Limits;

/// UTF-8 whose every byte is known to be a template's or a message's: `<|im_end|>` ends a turn in the one, and is ten
/// characters in the other.
struct Text {
  std::string bytes;
  std::string marks;  ///< for each byte 0 if the template wrote it, else what its message was marked with

  Text() = default;
  explicit Text(std::string_view text, char mark = 0) : bytes(text), marks(text.size(), mark) {}
  size_t size() const { return bytes.size(); }
  /// The bytes [begin, end).
  Text slice(size_t begin, size_t end) const;
  void append(const Text& other);
  /// Appends bytes that have the mark of byte `like` of `other`.
  void append(std::string_view text, const Text& other, size_t like);
  void append(std::string_view text) { append(Text(text)); }
};

/// Where each character of UTF-8 begins, and the size at the end. Broken bytes are characters of their own.
std::vector<size_t> character_starts(std::string_view text);

/// A character as UTF-8.
std::string encoded(char32_t character);

/// True for what Python's str.strip() takes away.
bool is_space(char32_t character);

/// Without white space, or without the characters of `these`, at its ends.
Text stripped(const Text& text, bool left, bool right, const std::string* these = nullptr);

/// What becomes of a text's letters. Large are the first letters of words, which begin behind anything that is no
/// letter (title), or behind white space, '-' and opening brackets alone (headline), or that of the text (capitalized).
enum class Case { upper, lower, title, headline, capitalized };
Text in_case(const Text& text, Case wanted);

/// True if there is a character and `holds` for each, by its Unicode category: "L", "N" or a prefix of the two-letter
/// name.
bool all_of_category(std::string_view text, std::string_view categories);

/// Each `from` as `to`, at most `most` times (-1: all). An empty `from` stands before each character and at the end.
/// Spends the bytes that it writes.
Text replaced(const Text& text, std::string_view from, const Text& to, long most, Limits& limits);

/// The parts between separators, at most `most` cuts (-1: all), counted from the right if `from_right`; without a
/// separator the words between white space.
std::vector<Text> split(const Text& text, const std::string* separator, long most, bool from_right);

/// The lines, without their ends.
std::vector<Text> lines(const Text& text);

}  // namespace headroom::models::jinja
