#include "models/tokenizers/byte_alphabet.h"

#include <utf8proc.h>

#include <array>
#include <unordered_map>

#include "models/files/utf8.h"

namespace headroom::models {
namespace {

using Alphabet = std::array<utf8proc_int32_t, 256>;

bool is_printable_latin1(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/// The code point of each byte.
const Alphabet& alphabet() {
  static const Alphabet points = [] {
    Alphabet out{};
    utf8proc_int32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) out[static_cast<size_t>(byte)] = is_printable_latin1(byte) ? byte : next++;
    return out;
  }();
  return points;
}

}  // namespace

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  static const auto bytes = [] {
    std::unordered_map<utf8proc_int32_t, char> out;
    for (size_t byte = 0; byte < 256; ++byte) out[alphabet()[byte]] = static_cast<char>(byte);
    return out;
  }();
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    const auto found = point.bytes > 0 ? bytes.find(static_cast<utf8proc_int32_t>(point.value)) : bytes.end();
    if (found == bytes.end()) return std::nullopt;
    out += found->second;
    at += point.bytes;
  }
  return out;
}

std::string to_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    std::array<utf8proc_uint8_t, 4> encoded{};
    const utf8proc_ssize_t length = utf8proc_encode_char(alphabet()[static_cast<unsigned char>(byte)], encoded.data());
    out.append(reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(length));
  }
  return out;
}

}  // namespace headroom::models
