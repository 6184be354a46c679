#include "engine/excerpt.h"

#include <fmt/core.h>

namespace headroom {
namespace {

/// The byte length of the UTF-8 character at the front; 0 if there is none.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (bytes == 0 || first >= 0xF8 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return bytes;
}

/// The code point of a character of UTF-8.
char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  char32_t point = character.size() == 1 ? first : first & (0xFFU >> (character.size() + 1));
  for (const char byte : character.substr(1)) point = point << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return point;
}

std::string escaped(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  return fmt::format("\\x{:02X}", byte);
}

}  // namespace

bool is_control(char32_t c) {
  const bool is_turn =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || is_turn || c == 0xFEFF;
}

std::string excerpt(std::string_view text, size_t most) {
  std::string out;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == most) return out + "…";
    const size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (bytes == 0 || is_control(code_point(character)))
      for (const char byte : character) out += escaped(static_cast<unsigned char>(byte));
    else out += character;
    text.remove_prefix(character.size());
  }
  return out;
}

std::string plain_words(std::string_view what) {
  const size_t end = what.find("] ");
  if (what.starts_with('[') && end != std::string_view::npos) what.remove_prefix(end + 2);
  return excerpt(what, 200);
}

}  // namespace headroom
