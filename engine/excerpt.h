#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// True for characters that act on a terminal or viewer: control characters (C0, DEL, C1), line and paragraph ends
/// (U+2028, U+2029), bidirectional marks (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and the byte
/// order mark (U+FEFF).
bool is_control(char32_t character);

/// Text to quote in a message, without quotation marks: at most `most` characters of UTF-8, then an ellipsis;
/// is_control() characters and broken UTF-8 are escaped ("\n", "\x1B"). No input can make a message long, spread it
/// over lines, or steer a terminal.
std::string excerpt(std::string_view text, size_t most = 100);

/// An excerpt of 200 characters of a library's exception, without the tag some put in front:
/// "[json.exception.parse_error.101] parse error at …" becomes "parse error at …".
std::string plain_words(std::string_view what);

}  // namespace headroom
