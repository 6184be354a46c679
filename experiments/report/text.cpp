#include "experiments/report/text.h"

#include <cctype>
#include <cstdint>

namespace headroom::experiments {
namespace {

/// Bytes of the well-formed character at the start of `text`; 0 when there is none (RFC 3629: no overlong forms, no
/// surrogates, nothing above U+10FFFF).
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const uint8_t second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = character(text);
    const auto c = static_cast<uint8_t>(text[0]);
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    if (length == 0 || control) out += "\uFFFD";
    else out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string escape(std::string_view text) {
  std::string out;
  for (char c : clean(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string slug(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  if (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace headroom::experiments
