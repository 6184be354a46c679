#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::experiments {

/// Text of an address with each %XX as the byte that it stands for; a % without two hexadecimal digits stays.
std::string percent_decoded(std::string_view text);

/// The number in a Content-Length header; none when it is not only digits, or has more than ten.
std::optional<uint64_t> length_in(std::string_view text);

/// Whether two names of headers are the same, in whatever case.
bool is_same_name(std::string_view a, std::string_view b);

}  // namespace headroom::experiments
