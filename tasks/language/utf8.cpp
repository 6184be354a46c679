#include "tasks/language/utf8.h"

#include "engine/error.h"
#include "models/files/utf8.h"

namespace headroom::tasks {

size_t first_invalid_utf8(std::string_view text) {
  const size_t valid = models::valid_utf8(text);
  return valid == text.size() ? std::string_view::npos : valid;
}

std::vector<char32_t> decode_utf8(std::string_view text, const std::string& name) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const models::CodePoint point = models::first_code_point(text.substr(at));
    require(point.bytes > 0, "{}: byte 0x{:02x} at offset {} is not UTF-8; tokenizer = \"byte\" takes any bytes", name,
            static_cast<unsigned char>(text[at]), at);
    points.push_back(point.value);
    at += point.bytes;
  }
  return points;
}

}  // namespace headroom::tasks
