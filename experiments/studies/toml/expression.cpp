#include "experiments/studies/toml/expression.h"

#include <muParser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"

namespace headroom::experiments {
namespace {

constexpr size_t most_characters = 1000, most_nested = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '.'; }

/// Reads a text as arithmetic, and refuses what muParser takes for something else than its writer: `0,5` for the value
/// 5 of a list, `a = 2` for an assignment, a zero byte for the end. What it lets through muParser still parses.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : rest_(text) {}

  void scan() {
    require(rest_.size() <= most_characters, "{} characters are too many for an expression: expected at most {}",
            rest_.size(), most_characters);
    bool is_empty = true;
    for (skip_blanks(); !rest_.empty(); skip_blanks()) {
      is_empty = false;
      const char c = rest_[0];
      if (is_digit(c) || c == '.') number();
      else if (is_name_start(c)) name();
      else if (c == '(') open(false);
      else symbol();
    }
    require(!is_empty, "it is empty");
    require(calls_.empty(), "a parenthesis is not closed");
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  void number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    require(error != std::errc::result_out_of_range, "the number {} does not fit in 64 bits",
            excerpt(rest_.substr(0, static_cast<size_t>(end - rest_.data())), 20));
    const auto length = static_cast<size_t>(end - rest_.data());
    const bool goes_on = length < rest_.size() && is_name_part(rest_[length]);
    const size_t word = std::find_if_not(rest_.begin(), rest_.end(), is_name_part) - rest_.begin();
    require(error == std::errc() && !goes_on, "\"{}\" is not a number", excerpt(rest_.substr(0, word), 20));
    rest_.remove_prefix(length);
  }

  void name() {
    size_t length = 1;
    while (length < rest_.size() && is_name_part(rest_[length])) ++length;
    rest_.remove_prefix(length);
    skip_blanks();
    if (!rest_.empty() && rest_[0] == '(') open(true);
  }

  void open(bool is_call) {
    require(calls_.size() < most_nested, "parentheses are nested deeper than {}", most_nested);
    calls_.push_back(is_call);
    rest_.remove_prefix(1);
  }

  void symbol() {
    const char c = rest_[0];
    size_t length = 1;
    if (c == ')') {
      require(!calls_.empty(), "a closing parenthesis has no opening one");
      calls_.pop_back();
    } else if (c == ',') {
      require(!calls_.empty() && calls_.back(),
              "a comma stands only between the arguments of a function; a decimal point is written \".\"");
    } else if (c == '=' || c == '!' || c == '<' || c == '>') {
      const bool has_equals = rest_.substr(1).starts_with('=');
      require(has_equals || c == '<' || c == '>', "\"{}\" is not an operator: use \"==\" or \"!=\"", c);
      length = has_equals ? 2 : 1;
    } else if (c == '&' || c == '|') {
      require(rest_.substr(1).starts_with(c), "\"{}\" is not an operator: use \"&&\" or \"||\"", c);
      length = 2;
    } else if (std::string_view("+-*/^%?:").find(c) == std::string_view::npos) {
      while (length < rest_.size() && (static_cast<unsigned char>(rest_[length]) & 0xC0) == 0x80) ++length;  // UTF-8
      fail("\"{}\" has no place in it", excerpt(rest_.substr(0, length)));
    }
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  std::vector<bool> calls_;  ///< of each open parenthesis: those of a function's arguments
};

}  // namespace

double evaluate(const std::string& text, const std::function<double(const std::string&)>& lookup) {
  try {
    Scanner(text).scan();
  } catch (const Error& error) {
    fail("cannot evaluate \"{}\": {}", excerpt(text), error.what());
  }
  double value = 0;
  try {
    mu::Parser parser;
    parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    parser.DefineOprt(
        "%", +[](double a, double b) { return std::fmod(a, b); }, mu::prMUL_DIV);
    parser.DefineFun(
        "floor", +[](double a) { return std::floor(a); });
    parser.DefineFun(
        "ceil", +[](double a) { return std::ceil(a); });
    parser.DefineFun(
        "round", +[](double a) { return std::round(a); });
    parser.SetExpr(text);
    // A copy: defining a constant clears the parser's own list.
    const mu::varmap_type names = parser.GetUsedVar();
    for (const auto& [name, unused] : names) parser.DefineConst(name, lookup(name));
    value = parser.Eval();
  } catch (const mu::Parser::exception_type& error) {
    fail("cannot evaluate \"{}\": {}", excerpt(text), excerpt(error.GetMsg(), 200));
  }
  require(std::isfinite(value), "\"{}\" is not finite", excerpt(text));
  return value;
}

}  // namespace headroom::experiments
