#pragma once
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/read_number.h"

namespace headroom::experiments {

/// Decodes each %XX of an address; a % without two hexadecimal digits stays.
inline std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* digits = text.data() + i + 1;
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    decoded += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

/// The number in a Content-Length header; none if it has other characters than digits, or over ten of them.
inline std::optional<uint64_t> length_in(std::string_view text) {
  return text.size() > 10 ? std::nullopt : read_number<uint64_t>(text);
}

/// True if two header names are equal, ignoring case.
inline bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace headroom::experiments
