#include "tasks/language/utf8.h"

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// One code point and its number of bytes; 0 bytes where the text is not well-formed.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (first < 0xC2 || bytes == 0 || at + bytes > text.size()) return {};
  char32_t value = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (begins_code_point(text[at + i])) return {};
    value = value << 6 | (byte(at + i) & 0x3Fu);
  }
  const bool is_overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (is_overlong || is_surrogate || value > 0x10FFFF) return {};
  return {value, bytes};
}

}  // namespace

size_t first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (point.bytes == 0) return at;
    at += point.bytes;
  }
  return std::string_view::npos;
}

std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    require(point.bytes > 0, "{}: byte 0x{:02x} at offset {} is not UTF-8; tokenizer = \"byte\" takes any bytes", name,
            static_cast<unsigned char>(text[at]), at);
    points.push_back(point.value);
    at += point.bytes;
  }
  return points;
}

}  // namespace headroom::tasks
