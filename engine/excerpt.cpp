#include "engine/excerpt.h"

#include <fmt/core.h>

namespace headroom {
namespace {

/// Bytes of the character of UTF-8 at the front; 0 when there is none.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (bytes == 0 || first >= 0xF8 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return bytes;
}

/// U+0080 to U+009F, which terminals obey like ESC [.
bool is_c1(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string escaped(unsigned char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  return fmt::format("\\x{:02X}", byte);
}

}  // namespace

std::string excerpt(std::string_view text, size_t most) {
  std::string out;
  for (size_t count = 0; !text.empty(); ++count) {
    if (count == most) return out + "…";
    const size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    const auto first = static_cast<unsigned char>(character[0]);
    if (bytes == 0 || first < 0x20 || first == 0x7F || is_c1(character))
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
