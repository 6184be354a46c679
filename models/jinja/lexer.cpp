#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/jinja/syntax.h"

namespace headroom::models::jinja {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

/// Line ends as \n, without the last one.
std::string unified(const std::string& source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') out += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n') out += '\n';
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(unified(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t begin = source_.find('{', at_);
      if (begin == std::string::npos || begin + 1 == source_.size()) break;
      const char kind = source_[begin + 1];
      if (kind != '{' && kind != '%' && kind != '#') {
        text_ += source_.substr(at_, begin + 1 - at_);
        at_ = begin + 1;
        continue;
      }
      take_text(begin, kind);
      if (kind == '#') skip_comment();
      else if (kind == '%' && is_raw()) take_raw();
      else take_code(kind);
    }
    text_ += source_.substr(at_);
    put_text();
    put(Token::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) const {
    fail("line {}: {}", line_, fmt::format(format, std::forward<Args>(args)...));
  }
  void put(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void put_text() {
    if (!text_.empty()) put(Token::Kind::text, text_);
    line_ += static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
    text_.clear();
  }
  /// Moves on, counting lines.
  void pass(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  /// The next place from `at` on that is not blank.
  size_t behind_blanks(size_t at) const {
    while (at < source_.size() && is_blank(source_[at])) ++at;
    return at;
  }

  /// Cuts the white space in front of a block that begins a line.
  void cut_blank_line(std::string& text) const {
    const size_t line_start = text.rfind('\n') + 1;  // 0 if there is none
    if ((line_start > 0 || starts_line_) &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(line_start), text.end(), is_blank))
      text.erase(line_start);
  }

  /// The text up to a block that begins at `begin`, and the block's own sign.
  void take_text(size_t begin, char kind) {
    text_ += source_.substr(at_, begin - at_);
    const int lines = static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
    at_ = begin + 2;
    const char sign = at_ < source_.size() ? source_[at_] : ' ';
    if (sign == '-') {
      text_ = stripped(Text(text_), false, true).bytes;
    } else if (sign != '+' && kind != '{') {
      cut_blank_line(text_);
    }
    if (sign == '-' || sign == '+') ++at_;
    if (!text_.empty()) tokens_.push_back({Token::Kind::text, std::exchange(text_, ""), line_});
    line_ += lines;
  }

  /// Behind a block's end: `strips` as "-%}" does, else the first line end goes if `trims`.
  void after(bool strips, bool trims) {
    const size_t begin = at_;
    size_t to = strips ? behind_blanks(at_) : at_;
    if (!strips && trims && to < source_.size() && source_[to] == '\n') ++to;
    pass(to);
    starts_line_ = to > begin && source_[to - 1] == '\n';
  }

  void skip_comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) stop("a comment has no end");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    pass(end + 2);
    after(sign == '-', sign != '+');
  }

  bool is_raw() const {
    size_t at = behind_blanks(at_);
    if (source_.compare(at, 3, "raw") != 0) return false;
    at = behind_blanks(at + 3);
    return source_.compare(at, 2, "%}") == 0 || source_.compare(at, 3, "-%}") == 0;
  }

  /// {% raw %} … {% endraw %}: text as it stands.
  void take_raw() {
    const size_t begin = source_.find("%}", at_);
    const bool strips_first = source_[begin - 1] == '-';
    pass(begin + 2);
    after(strips_first, false);
    for (size_t end = source_.find("{%", at_);; end = source_.find("{%", end + 1)) {
      if (end == std::string::npos) stop("{{% raw %}} has no {{% endraw %}}");
      size_t at = end + 2;
      const bool strips = at < source_.size() && source_[at] == '-', keeps = at < source_.size() && source_[at] == '+';
      at = behind_blanks(strips || keeps ? at + 1 : at);
      if (source_.compare(at, 6, "endraw") != 0) continue;
      at = behind_blanks(at + 6);
      const char sign = at < source_.size() ? source_[at] : ' ';
      if (sign == '-' || sign == '+') ++at;
      if (source_.compare(at, 2, "%}") != 0) continue;
      std::string raw = source_.substr(at_, end - at_);
      if (strips) raw = stripped(Text(raw), false, true).bytes;
      else if (!keeps) cut_blank_line(raw);
      if (!raw.empty()) put(Token::Kind::text, raw);
      pass(at + 2);
      after(sign == '-', sign != '+');
      return;
    }
  }

  void take_code(char kind) {
    const bool is_block = kind == '%';
    put(is_block ? Token::Kind::block : Token::Kind::variable, "");
    brackets_.clear();
    while (true) {
      pass(behind_blanks(at_));
      if (at_ >= source_.size()) stop("a block has no end");
      if (brackets_.empty() && takes_end(is_block)) return;
      take_token();
    }
  }

  bool takes_end(bool is_block) {
    const std::string_view rest = std::string_view(source_).substr(at_);
    const std::string_view end = is_block ? "%}" : "}}";
    const bool has_sign = (rest[0] == '-' || (rest[0] == '+' && is_block)) && rest.substr(1).starts_with(end);
    if (!has_sign && !rest.starts_with(end)) return false;
    put(is_block ? Token::Kind::end_block : Token::Kind::end_variable, "");
    at_ += has_sign ? 3 : 2;
    after(has_sign && rest[0] == '-', is_block && !has_sign);
    return true;
  }

  void take_token() {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return take_string(c);
    if (is_digit(c)) return take_number();
    if (starts_name(c)) {
      size_t end = at_;
      while (end < source_.size() && (starts_name(source_[end]) || is_digit(source_[end]))) ++end;
      put(Token::Kind::name, source_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    for (const std::string_view sign : {"//", "**", "==", "!=", ">=", "<="})
      if (source_.compare(at_, 2, sign) == 0) {
        put(Token::Kind::sign, std::string(sign));
        at_ += 2;
        return;
      }
    if (std::string_view("|()[]{}=><+-/*%~:.,").find(c) == std::string_view::npos)
      stop("{} has no place in an expression", quoted_name(source_.substr(at_, 1)));
    if (c == '(' || c == '[' || c == '{') brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) stop("'{}' closes nothing", c);
      brackets_.pop_back();
    }
    put(Token::Kind::sign, std::string(1, c));
    ++at_;
  }

  void take_number() {
    size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
    };
    digits();
    bool is_real = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_real = true;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      size_t digit = end + 1;
      if (digit < source_.size() && (source_[digit] == '+' || source_[digit] == '-')) ++digit;
      if (digit < source_.size() && is_digit(source_[digit])) {
        is_real = true;
        end = digit;
        digits();
      }
    }
    std::string number = source_.substr(at_, end - at_);
    std::erase(number, '_');
    put(is_real ? Token::Kind::real : Token::Kind::integer, std::move(number));
    at_ = end;
  }

  void take_string(char quote) {
    std::string text;
    size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] != '\\' || at + 1 == source_.size()) text += source_[at];
      else at = take_escape(at + 1, text);
    }
    if (at >= source_.size()) stop("a text in quotes has no end");
    put(Token::Kind::string, std::move(text));
    pass(at + 1);
  }

  /// Python's escapes; others stay as they are. Returns the place of the last character that it took.
  size_t take_escape(size_t at, std::string& text) const {
    constexpr std::string_view letters = "nrtabfv\\'\"\n";
    constexpr std::string_view meanings = "\n\r\t\a\b\f\v\\'\"";
    const char c = source_[at];
    const size_t known = letters.find(c);
    if (c == '\n') return at;
    if (known != std::string_view::npos) {
      text += meanings[known];
      return at;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : c >= '0' && c <= '7' ? 3 : 0;
    if (digits == 0) {
      text += {'\\', c};
      return at;
    }
    const size_t first = digits == 3 ? at : at + 1;
    const char* const begin = source_.data() + first;
    uint32_t code = 0;
    const char* const end =
        std::from_chars(begin, begin + std::min(digits, source_.size() - first), code, digits == 3 ? 8 : 16).ptr;
    const auto count = static_cast<size_t>(end - begin);
    if (digits != 3 && count < digits) stop("\\{} wants {} digits", c, digits);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) stop("\\{} names no character", c);
    text += encoded(code);
    return first + count - 1;
  }

  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool starts_line_ = true;
  std::string text_;      ///< ordinary text up to at_
  std::string brackets_;  ///< that close what is open
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const std::string& source) { return Lexer(source).run(); }

}  // namespace headroom::models::jinja
