#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// A character that acts on what shows it: a control character (C0, DEL, C1), the end of a line or paragraph (U+2028,
/// U+2029), a mark that turns the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), or a
/// byte order mark (U+FEFF).
bool is_control(char32_t character);

/// A text as a message quotes it, without quotation marks: at most `most` characters of UTF-8, an ellipsis in place of
/// the rest, and is_control() characters and broken UTF-8 as escapes ("\n", "\x1B"): no input can make a message long,
/// spread it over lines, or steer a terminal.
std::string excerpt(std::string_view text, size_t most = 100);

/// What a library's exception says, as an excerpt of 200 characters and without the tag that some put in front:
/// "[json.exception.parse_error.101] parse error at …" is "parse error at …".
std::string plain_words(std::string_view what);

}  // namespace headroom
