#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace headroom::models {

/// GPT-2's files write each byte as one printable character: "Ġ" (U+0120) is a space. Bytes that are printable in
/// Latin-1 stand for themselves, the other 68 are U+0100 and up in order (bytes_to_unicode in its encoder.py).
std::optional<std::string> from_byte_alphabet(std::string_view text);

/// The inverse: any bytes, written in that alphabet.
std::string to_byte_alphabet(std::string_view bytes);

}  // namespace headroom::models
