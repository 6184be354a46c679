#pragma once
#include <cstddef>
#include <string_view>

namespace headroom::models {

/// A code point of UTF-8 text and its length in bytes.
struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};

/// The first code point of `text`; has 0 bytes if the text is empty or does not start with well-formed UTF-8 (RFC 3629:
/// no overlong forms, no surrogates, at most U+10FFFF).
CodePoint first_code_point(std::string_view text);

/// The number of leading bytes that are well-formed UTF-8: the text's size if all are.
size_t valid_utf8(std::string_view text);

}  // namespace headroom::models
