#include <string>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/expression.h"
#include "tests/experiments/support.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::experiments;
using namespace headroom::testing;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

double value_of(const std::string& text) {
  return evaluate(text, [](const std::string& name) -> double {
    if (name == "s") return 3;
    if (name == "model.heads") return 4;
    fail("no {}", name);
  });
}

}  // namespace

TEST_CASE("an expression is what its writer meant, or an error") {
  CHECK(value_of("0.5*s") == 1.5);
  CHECK(value_of("min(s, 2) + max(1, model.heads)") == 6);
  CHECK(value_of("model.heads % 3 == 1 && s <= 3") == 1);
  CHECK(value_of("s > 2 ? 10 : 20") == 10);
  CHECK(value_of("\t1e-3 ") == 1e-3);
  struct Case {
    std::string text, problem;
  };
  const Case cases[]{
      {"0,5*s", "a comma stands only between the arguments of a function"},
      {"100,3", "a comma stands only between"},
      {"(1,2)", "a comma stands only between"},
      {"min((1,2), 3)", "a comma stands only between"},
      {"min(1, 2), 3", "a comma stands only between"},
      {"s = 4", "\"=\" is not an operator"},
      {"s ! 4", "\"!\" is not an operator"},
      {"s & 4", "\"&\" is not an operator"},
      {"", "it is empty"},
      {" \t", "it is empty"},
      {"()", "cannot evaluate"},
      {"1 2", "cannot evaluate"},
      {"s s", "cannot evaluate"},
      {"2 s", "cannot evaluate"},
      {"s +", "cannot evaluate"},
      {"min()", "cannot evaluate"},
      {"sqrt(4, 9)", "cannot evaluate"},
      {"(1", "a parenthesis is not closed"},
      {"1)", "has no opening one"},
      {"1e400", "the number 1e400 does not fit in 64 bits"},
      {"1.2.3", "\"1.2.3\" is not a number"},
      {"0x10", "\"0x10\" is not a number"},
      {"10k", "\"10k\" is not a number"},
      {"1;2", "\";\" has no place in it"},
      {"\"s\"", "\"\"\" has no place in it"},
      {std::string("1\0002", 3), "\"\\x00\" has no place in it"},
      {"1 \xC3\x97 2", "\"\xC3\x97\" has no place in it"},
      {repeated("(", 100000) + "1" + repeated(")", 100000), "expected at most 1000"},
      {repeated("(", 400) + "1" + repeated(")", 400), "nested deeper than 64"},
      {"1 / 0", "is not finite"},
      {"0 / 0", "is not finite"},
      {"ln(0)", "is not finite"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of([&] { value_of(c.text); });
    CAPTURE(excerpt(c.text), error);
    CHECK(contains(error, c.problem));
    CHECK(error.size() < 500);
  }
}

TEST_CASE("TOML that lies too deep is an error with its place, however it gets there") {
  const auto error = [](const std::string& text) { return error_of([&] { parse_toml(text, "x.toml"); }); };
  const std::string deep = "tables and lists are nested deeper than 128";
  CHECK(error("a = 1\n" + repeated("a.", 19999) + "a = 1\n") == "x.toml:2:256: " + deep);
  CHECK(error("[" + repeated("a.", 19999) + "a]\n") == "x.toml:1:257: " + deep);
  CHECK(error("[[" + repeated("a . ", 19999) + "a]]\n") == "x.toml:1:513: " + deep);
  CHECK(error("a = " + repeated("[", 20000)) == "x.toml:1:131: " + deep);
  CHECK(error("a = " + repeated("{ a = ", 20000)).substr(0, 9) == "x.toml:1:");
  CHECK(error(repeated("a.", 100) + "a = { " + repeated("b.", 100) + "b = 1 }") == "x.toml:1:258: " + deep);
  CHECK(error("[" + repeated("a.", 100) + "a]\n" + repeated("b.", 100) + "b = 1") == "x.toml:2:54: " + deep);
  CHECK(error("a = [1,\n 2.5, [" + repeated("\"x.]\".", 200) + "b = 1").substr(0, 9) == "x.toml:2:");
  // What only looks deep.
  const std::string dots = repeated(".", 1000), brackets = repeated("[{", 1000);
  CHECK(error("a = \"" + dots + "\\\"" + brackets + "\"") == "");
  CHECK(error("a = '" + dots + brackets + "'") == "");
  CHECK(error("a = \"\"\"\n" + dots + "\"\"" + brackets + "\"\"\"\"\"") == "");
  CHECK(error("a = '''\n" + dots + "''" + brackets + "'''") == "");
  CHECK(error("# " + dots + brackets + "\na = [ # " + brackets + "\n1.5,\n" + repeated("2.5, ", 1000) + "]") == "");
  CHECK(error(repeated("[a.b]\n", 1) + repeated("[[c.d]]\ne.f = { g.h = [1.5] }\n", 1000)) == "");
  CHECK(error("\"" + dots + "\".a = 1\n['" + dots + "'.b]\n") == "");
  CHECK(error("a = " + repeated("[", 100) + repeated("]", 100)) == "");
}

TEST_CASE("TOML that is written back reads as it was, and shows what it holds") {
  const std::string text =
      "[\"a.\\u007F\\u000A\"]\n\"]\\u202E\" = \"x\\u0000\\u000A\\u0085\\u2028\\\"\\\\\u00e9\"\nb = [\"\\u001B\", { c = "
      "\"\\uFEFF\" }]\n";
  const std::string written = to_toml(parse_toml(text, "x", false));
  CHECK(written == text);
  CHECK(to_toml(parse_toml(written, "x", false)) == written);
}

TEST_CASE("an excerpt is short, on one line and printable") {
  CHECK(excerpt("a \"b\" \xE2\x80\xA6") == "a \"b\" \xE2\x80\xA6");
  CHECK(excerpt(std::string(1000, 'x')) == std::string(100, 'x') + "…");
  CHECK(excerpt("abc", 3) == "abc");
  CHECK(excerpt("abcd", 3) == "abc…");
  CHECK(excerpt("\xC3\xA4\xC3\xB6\xC3\xBC", 2) == "\xC3\xA4\xC3\xB6…");
  CHECK(excerpt("a\n\t\x1B[31m\x7F") == "a\\n\\t\\x1B[31m\\x7F");
  CHECK(excerpt(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(excerpt("\xFF\xC3") == "\\xFF\\xC3");
  CHECK(excerpt("\xC2\x9B") == "\\xC2\\x9B");
}
