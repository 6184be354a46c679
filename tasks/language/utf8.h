#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headroom::tasks {

/// The offset of the first byte that is not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, at most
/// U+10FFFF); npos if none.
size_t first_invalid_utf8(std::string_view text);

/// The code points of UTF-8 text. Throws Error naming `name` and the offset of the first invalid byte.
std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name);

/// True if a byte of UTF-8 text begins a code point.
constexpr bool begins_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u; }

}  // namespace headroom::tasks
