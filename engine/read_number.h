#pragma once
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace headroom {

/// Reads all of `text` as a decimal number from `least` to `most`. nullopt for anything else: empty text, spaces, a
/// plus sign, surrounding text, a number T cannot hold, infinity or NaN.
template <class T>
std::optional<T> read_number(std::string_view text, T least = std::numeric_limits<T>::lowest(),
                             T most = std::numeric_limits<T>::max()) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

}  // namespace headroom
