#pragma once
#include <string>
#include <string_view>

namespace headroom::models {

/// Unicode's normalization forms (UAX 15).
enum class Normalization { none, nfc, nfd, nfkc, nfkd };

/// "NFC", …
const char* name_of(Normalization form);

/// The text in that form; invalid UTF-8 stays unchanged.
std::string normalized(std::string_view text, Normalization form);

}  // namespace headroom::models
