// Quoting for other programs: what they read back is the text itself.
#include "experiments/output/text.h"

#include <random>

#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "experiments/output/document.h"
#include "experiments/output/program.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Texts that programs take for more than text, and random ones of any byte but zero.
std::vector<std::string> hostile_texts() {
  std::vector<std::string> texts{"",           "a b",
                                 "a\ntouch x", "a\rb",
                                 "\x1b[2J",    "\x7f",
                                 "it's",       "$(id)",
                                 "`id`",       "a\\b",
                                 "~root",      "=ls",
                                 "!!",         "*",
                                 "{a,b}",      "#x",
                                 "a;b|c&d>e",  "-n",
                                 "\u202Etxt",  "a\u2028b",
                                 "\u0085",     "\xff\xfe'\n\\'",
                                 "\u00e9'\t"};
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string& text = texts.emplace_back();
    for (auto n = 1 + random() % 12; n > 0; --n) text += static_cast<char>(1 + random() % 255);
  }
  return texts;
}

}  // namespace

TEST_CASE("a shell reads a quoted word as the text that it was, and a line of it as one line") {
  std::string script = "printf '%s\\0'";
  std::string wanted;
  for (const std::string& text : hostile_texts()) {
    const std::string word = shell_word(text);
    CAPTURE(word);
    CHECK(one_line(word) == word);
    script += " " + word;
    wanted += text + std::string(1, '\0');
  }
  const ProgramResult result = run_program(*find_program("bash"), {"-c", script}, "", 60);
  CHECK(result.status == 0);
  CHECK(result.output == wanted);
}

TEST_CASE("what terminals, pages and tables are given holds no character that acts") {
  for (const std::string& text : hostile_texts()) {
    CHECK(clean(clean(text)) == clean(text));
    CHECK(excerpt(excerpt(text), 1000) == excerpt(text));
    CHECK(one_line(text).find_first_of("\n\t\r\x1b\x7f") == std::string::npos);
    CHECK_FALSE(has(one_line(text), "\u202E"));
  }
  CHECK(clean("a\nb\tc") == "a\nb\tc");
  CHECK(one_line("a\nb\tc\u2029d\u2066e\xEF\xBB\xBF") == "a b c\uFFFDd\uFFFDe\uFFFD");
  CHECK(excerpt("\u202E\u0085\x7F") == R"(\xE2\x80\xAE\xC2\x85\x7F)");
  CHECK(excerpt("Ω ≥ 1·2 — “é”") == "Ω ≥ 1·2 — “é”");
}

TEST_CASE("spreadsheets compute no cell, and numbers stay numbers") {
  for (const char* text : {"=1+1", "+1", "-x", "@sum(a)", "  =1", "\t=1", "\n=1", "=", "-1e", "-1;=2", "\uFF1D1",
                           "\uFF0B1", "\uFF0D1", "\uFF20x", "-nan"}) {
    CAPTURE(text);
    CHECK(has(csv_row({text, "b"}), "'"));
  }
  CHECK(csv_row({"\r=1"}) == "\uFFFD=1\n");
  CHECK(csv_row({"-1", "-1.5e-07", "-inf", "2", "x-1", "a=b", ""}) == "-1,-1.5e-07,-inf,2,x-1,a=b,\n");
  CHECK(csv_row({"a,b", "a;=1", "\"", "a\nb"}) == "\"a,b\",\"a;=1\",\"\"\"\",a b\n");
}

TEST_CASE("Markdown shows the text itself") {
  const auto markdown = [](const std::string& text) { return as_markdown({Block{.line = {Words{.text = text}}}}); };
  for (const char* text : {"<b>", "[a](javascript:x)", "`a`", "*a*", "_a_", "~~a~~", "$a$", "# a", "a|b", "&lt;"})
    CHECK(has(markdown(text), "\\"));
  CHECK(markdown("- a") == "\\- a\n");
  CHECK_FALSE(has(markdown("a\n# b\u202E"), "\u202E"));
  CHECK(has(markdown("a\n# b"), "a \\# b"));
}

TEST_CASE("a number is read whole, in its range, or not at all") {
  CHECK(read_number<int64_t>("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  CHECK(read_number<double>("1e308") == 1e308);
  CHECK(read_number<double>(".5") == 0.5);
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "1k", "nan", "inf", "-inf", "1e309", "--1", "1\n", "1,5"}) {
    CAPTURE(text);
    CHECK_FALSE(read_number<double>(text));
    CHECK_FALSE(read_number<int64_t>(text));
  }
  for (const char* text : {"9223372036854775808", "1.0", "1e3"}) CHECK_FALSE(read_number<int64_t>(text));
  CHECK_FALSE(read_number<uint64_t>("-1"));
  CHECK_FALSE(read_number("0", 1, 4096));
  CHECK_FALSE(read_number("4097", 1, 4096));
}

}  // namespace headroom::experiments
