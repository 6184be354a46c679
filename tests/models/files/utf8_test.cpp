#include "models/files/utf8.h"

#include <string>

#include "tests/support/catch.h"

namespace headroom::models {

TEST_CASE("a code point and its bytes") {
  const auto is = [](const char* text, char32_t value, size_t bytes) {
    const CodePoint point = first_code_point(text);
    return point.value == value && point.bytes == bytes;
  };
  CHECK(is("ab", U'a', 1));
  CHECK(is("é!", U'é', 2));
  CHECK(is("€", U'€', 3));
  CHECK(is("😀", U'😀', 4));
  CHECK(is("\uFFFF", 0xFFFF, 3));  // a noncharacter is well-formed, too
  CHECK(first_code_point(std::string_view("\0x", 2)).bytes == 1);
  CHECK(first_code_point("").bytes == 0);
}

TEST_CASE("bytes that are no UTF-8 end what is valid") {
  CHECK(valid_utf8("") == 0);
  CHECK(valid_utf8("plain é") == 8);
  // A later byte alone, an overlong form, a surrogate, above U+10FFFF, a character cut off, a byte that never occurs.
  for (const char* wrong : {"\x80", "\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xFF"})
    CHECK(valid_utf8("aé" + std::string(wrong) + "z") == 3);
}

}  // namespace headroom::models
