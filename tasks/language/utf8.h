#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, at most
/// U+10FFFF); npos when there is none.
size_t first_invalid_utf8(std::string_view text);

/// The code points of UTF-8 text. Throws Error naming `name` and the offset of the first byte that is not UTF-8.
std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name);

/// Whether a byte of UTF-8 text begins a code point.
constexpr bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }

}  // namespace headroom::tasks
