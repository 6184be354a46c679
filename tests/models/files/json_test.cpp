#include "models/files/json.h"

#include "engine/error.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::models {

using testing::contains;
using testing::error_of;

TEST_CASE("JSON is read as nlohmann-json reads it", "[json]") {
  const char* texts[] = {
      "null",
      "7",
      "\"a\"",
      "[]",
      "{}",
      R"([1, -2, 3.5, 1e300, true, false, null, "\u00e9\n"])",
      R"({"a": {"b": [[], [{"c": 1}], {}], "d": {}}, "e": [[[1, 2], 3], 4], "f": 18446744073709551615})",
      R"([{"a": 1}, {"a": 2}, [{"a": [3]}, {"a": 4}]])"};
  for (const char* text : texts) {
    INFO(text);
    CHECK(parse_json(text) == nlohmann::json::parse(text));
  }
}

TEST_CASE("a whole number is one from 0 to what is allowed, and nothing that would become another", "[json]") {
  CHECK(whole_number(nlohmann::json::parse("9007199254740992")) == int64_t{1} << 53);
  CHECK(whole_number(nlohmann::json::parse("0"), 0) == 0);
  for (const char* text : {"9007199254740993", "18446744073709551615", "-1", "1.0", "1e300", "\"1\"", "null", "[1]"})
    CHECK_THAT(error_of([&] { (void)whole_number(nlohmann::json::parse(text)); }),
               contains("is no whole number from 0 to 9007199254740992"));
}

TEST_CASE("what is no JSON, or has a key twice, is refused", "[json]") {
  const auto error = [](std::string_view text) { return error_of([&] { (void)parse_json(text); }); };
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "[1] 2", "1e999", "\"\xff\"", "{\"a\": [}"}) {
    INFO(text);
    CHECK_THAT(error(text), contains("is not JSON: "));
  }
  CHECK_THAT(error(std::string_view("1\0", 2)), contains("holds a zero byte"));
  CHECK_THAT(error(R"([{"a": 1, "b": {"a": 2, "c": 3, "c": 4}}])"), contains("has key 'c' twice"));
  CHECK_THAT(error(R"({"a": {"b": {}}, "a": 2})"), contains("has key 'a' twice"));
  const auto nested = [](size_t lists) { return std::string(lists, '[') + std::string(lists, ']'); };
  CHECK(error(nested(100)).empty());
  CHECK_THAT(error(nested(101)), contains("nested deeper than 100"));
  CHECK_THAT(error(R"({"a": )" + nested(1000000) + "}"), contains("nested deeper than 100"));
}

}  // namespace headroom::models
