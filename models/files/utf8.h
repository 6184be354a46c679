#pragma once
#include <cstddef>
#include <string_view>

namespace headroom::models {

/// A code point of UTF-8 text, and how many bytes it takes there.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};

/// The code point at the start of `text`; one of 0 bytes where that is not well-formed UTF-8 (RFC 3629: no overlong
/// forms, no surrogates, at most U+10FFFF), or empty.
CodePoint first_code_point(std::string_view text);

/// How many bytes at the start of `text` are well-formed UTF-8: its size when all are.
size_t valid_utf8(std::string_view text);

}  // namespace headroom::models
