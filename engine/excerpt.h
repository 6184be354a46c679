#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// A text as a message quotes it, without quotation marks: at most `most` characters of UTF-8, an ellipsis in place of
/// the rest, and control characters and broken UTF-8 as escapes ("\n", "\x1B"): no input can make a message long,
/// spread it over lines, or steer a terminal.
std::string excerpt(std::string_view text, size_t most = 100);

/// What a library's exception says, as an excerpt of 200 characters and without the tag that some put in front:
/// "[json.exception.parse_error.101] parse error at …" is "parse error at …".
std::string plain_words(std::string_view what);

}  // namespace headroom
