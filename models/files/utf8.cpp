#include "models/files/utf8.h"

#include <utf8proc.h>

namespace headroom::models {

CodePoint first_code_point(std::string_view text) {
  utf8proc_int32_t point = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &point);
  if (bytes <= 0) return {};
  return {static_cast<char32_t>(point), static_cast<size_t>(bytes)};
}

size_t valid_utf8(std::string_view text) {
  size_t at = 0;
  while (const size_t bytes = first_code_point(text.substr(at)).bytes) at += bytes;
  return at;
}

}  // namespace headroom::models
