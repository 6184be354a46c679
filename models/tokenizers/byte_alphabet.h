#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace headroom::models {

/// Decodes GPT-2's alphabet: each byte is one printable character, "Ġ" (U+0120) for a space. Bytes printable in Latin-1
/// stand for themselves, the other 68 are U+0100 and up in order (bytes_to_unicode in its encoder.py).
std::optional<std::string> from_byte_alphabet(std::string_view text);

/// The inverse: writes any bytes in that alphabet.
std::string to_byte_alphabet(std::string_view bytes);

}  // namespace headroom::models
