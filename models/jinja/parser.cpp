#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/utf8.h"
#include "models/jinja/syntax.h"

namespace headroom::models::jinja {
namespace {

constexpr size_t most_bytes = size_t{1} << 20;
constexpr int most_nesting = 100;  ///< of parentheses, blocks and calls: each is a recursion of ours
constexpr int most_parts = 500;    ///< of one expression in a row, whose evaluation is a recursion, too

using Kind = Expression::Kind;
using Do = Statement::Kind;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Body run() {
    Body body = statements({});
    if (now().kind != Token::Kind::end) stop("{{% {} %}} has no beginning", now(1).text);
    return body;
  }

 private:
  // --- tokens ---
  const Token& now(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() {
    const Token token = now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(Token::Kind kind, std::string_view text, size_t ahead = 0) const {
    return now(ahead).kind == kind && now(ahead).text == text;
  }
  bool is_sign(std::string_view text) const { return is(Token::Kind::sign, text); }
  bool is_name(std::string_view text) const { return is(Token::Kind::name, text); }
  bool skip_sign(std::string_view text) { return is_sign(text) && (take(), true); }
  bool skip_name(std::string_view text) { return is_name(text) && (take(), true); }
  template <class... Args>
  [[noreturn]] void stop(fmt::format_string<Args...> format, Args&&... args) const {
    fail("line {}: {}", now().line, fmt::format(format, std::forward<Args>(args)...));
  }
  std::string here() const {
    switch (now().kind) {
      case Token::Kind::end:
        return "the template's end";
      case Token::Kind::end_block:
        return "'%}'";
      case Token::Kind::end_variable:
        return "'}}'";
      default:
        return quoted_name(now().text);
    }
  }
  void expect_sign(std::string_view text) {
    if (!skip_sign(text)) stop("expected '{}', found {}", text, here());
  }
  void expect_name(std::string_view text) {
    if (!skip_name(text)) stop("expected '{}', found {}", text, here());
  }
  std::string name() {
    if (now().kind != Token::Kind::name) stop("expected a name, found {}", here());
    return take().text;
  }
  void end_block() {
    if (now().kind != Token::Kind::end_block) stop("expected '%}}', found {}", here());
    take();
  }
  /// Reads parts between commas, up to `end`.
  template <class Part>
  void parts_until(std::string_view end, const Part& part) {
    while (!is_sign(end)) {
      part();
      if (!skip_sign(",")) break;
    }
    expect_sign(end);
  }

  /// Counts recursions of the parser while it lives.
  struct Nested {
    explicit Nested(Parser& owner) : parser(owner) {
      if (++parser.nesting_ > most_nesting) parser.stop("nested more than {} deep", most_nesting);
    }
    ~Nested() { --parser.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& parser;
  };

  // --- expressions, from what binds least ---
  ExpressionPtr make(Kind kind, std::vector<ExpressionPtr> parts = {}, std::string text = "") const {
    auto out = std::make_unique<Expression>();
    out->kind = kind;
    out->line = now().line;
    out->name = std::move(text);
    out->parts = std::move(parts);
    measure(*out);
    return out;
  }
  void measure(Expression& expression) const {
    for (const ExpressionPtr& part : expression.parts)
      if (part) expression.depth = std::max(expression.depth, part->depth + 1);
    for (const auto& [key, part] : expression.named) expression.depth = std::max(expression.depth, part->depth + 1);
    if (expression.depth > most_parts) stop("an expression has more than {} parts in a row", most_parts);
  }
  template <class... Parts>
  ExpressionPtr join(Kind kind, std::string text, Parts... parts) const {
    std::vector<ExpressionPtr> all;
    (all.push_back(std::move(parts)), ...);
    return make(kind, std::move(all), std::move(text));
  }
  ExpressionPtr constant(Value value) const {
    ExpressionPtr out = make(Kind::constant);
    out->value = std::move(value);
    return out;
  }

  ExpressionPtr expression(bool with_choice = true) {
    const Nested nested(*this);
    ExpressionPtr left = either();
    while (with_choice && skip_name("if")) {
      ExpressionPtr condition = either(), other;
      if (skip_name("else")) other = expression();
      left = join(Kind::choice, "", std::move(left), std::move(condition), std::move(other));
    }
    return left;
  }
  ExpressionPtr either() {
    ExpressionPtr left = both();
    while (skip_name("or")) left = join(Kind::binary, "or", std::move(left), both());
    return left;
  }
  ExpressionPtr both() {
    ExpressionPtr left = negation();
    while (skip_name("and")) left = join(Kind::binary, "and", std::move(left), negation());
    return left;
  }
  ExpressionPtr negation() {
    if (!skip_name("not")) return comparison();
    const Nested nested(*this);
    return join(Kind::unary, "not", negation());
  }
  ExpressionPtr comparison() {
    std::vector<ExpressionPtr> parts;
    std::vector<std::string> operators;
    parts.push_back(sum());
    while (true) {
      std::string sign;
      for (const std::string_view known : {"==", "!=", "<", ">", "<=", ">="})
        if (is_sign(known)) sign = known;
      if (is_name("in")) sign = "in";
      if (is_name("not") && is(Token::Kind::name, "in", 1)) {
        take();
        sign = "not in";
      }
      if (sign.empty()) break;
      take();
      operators.push_back(sign);
      parts.push_back(sum());
    }
    if (operators.empty()) return std::move(parts[0]);
    ExpressionPtr out = make(Kind::compare, std::move(parts));
    out->operators = std::move(operators);
    return out;
  }
  /// Operands of `next` between operators, from the left.
  template <class Next>
  ExpressionPtr chain(std::initializer_list<std::string_view> signs, Next next) {
    ExpressionPtr left = next();
    while (true) {
      const auto* sign = std::find_if(signs.begin(), signs.end(), [&](std::string_view s) { return is_sign(s); });
      if (sign == signs.end()) return left;
      take();
      left = join(Kind::binary, std::string(*sign), std::move(left), next());
    }
  }
  ExpressionPtr sum() {
    return chain({"+", "-"}, [&] {
      return chain({"~"}, [&] {
        return chain({"*", "/", "//", "%"}, [&] { return chain({"**"}, [&] { return unary(true); }); });
      });
    });
  }
  ExpressionPtr unary(bool with_filters) {
    const Nested nested(*this);
    ExpressionPtr out;
    if (is_sign("-") || is_sign("+")) {
      const std::string sign = take().text;
      out = join(Kind::unary, sign, unary(false));
    } else {
      out = postfix(primary());
    }
    return with_filters ? filtered(std::move(out)) : std::move(out);
  }

  ExpressionPtr primary() {
    const Token token = take();
    if (token.kind == Token::Kind::name) {
      if (token.text == "true" || token.text == "True") return constant(true);
      if (token.text == "false" || token.text == "False") return constant(false);
      if (token.text == "none" || token.text == "None") return constant(None{});
      return make(Kind::variable, {}, token.text);
    }
    if (token.kind == Token::Kind::string) {
      std::string text = token.text;
      while (now().kind == Token::Kind::string) text += take().text;
      return constant(Text(text));
    }
    if (token.kind == Token::Kind::integer || token.kind == Token::Kind::real) return number(token);
    if (token.kind == Token::Kind::sign && token.text == "(") {
      if (skip_sign(")")) return make(Kind::tuple);
      ExpressionPtr inner = expression();
      if (is_sign(",")) inner = tuple_of(std::move(inner), ")");
      expect_sign(")");
      return inner;
    }
    if (token.kind == Token::Kind::sign && token.text == "[") {
      std::vector<ExpressionPtr> items;
      parts_until("]", [&] { items.push_back(expression()); });
      return make(Kind::list, std::move(items));
    }
    if (token.kind == Token::Kind::sign && token.text == "{") {
      std::vector<ExpressionPtr> items;
      parts_until("}", [&] {
        items.push_back(expression());
        expect_sign(":");
        items.push_back(expression());
      });
      return make(Kind::dict, std::move(items));
    }
    if (at_ > 0 && token.kind != Token::Kind::end) --at_;
    stop("expected an expression, found {}", here());
  }
  ExpressionPtr number(const Token& token) const {
    if (token.kind == Token::Kind::real) return constant(std::strtod(token.text.c_str(), nullptr));
    int64_t value = 0;
    const char* const end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, value).ec != std::errc()) stop("{} is too large", token.text);
    return constant(value);
  }
  /// The rest of "a, b, …" up to what ends it.
  ExpressionPtr tuple_of(ExpressionPtr first, std::string_view end, bool with_choice = true) {
    std::vector<ExpressionPtr> items;
    items.push_back(std::move(first));
    while (skip_sign(",") && !is_sign(end) && now().kind != Token::Kind::end_block &&
           now().kind != Token::Kind::end_variable)
      items.push_back(expression(with_choice));
    return make(Kind::tuple, std::move(items));
  }
  ExpressionPtr maybe_tuple(bool with_choice = true) {
    ExpressionPtr first = expression(with_choice);
    return is_sign(",") ? tuple_of(std::move(first), "", with_choice) : std::move(first);
  }

  ExpressionPtr postfix(ExpressionPtr out) {
    while (true) {
      if (skip_sign(".")) {
        if (now().kind == Token::Kind::integer) out = join(Kind::subscript, "", std::move(out), number(take()));
        else {
          const std::string attribute = name();
          out = join(Kind::attribute, attribute, std::move(out));
        }
      } else if (skip_sign("[")) {
        out = subscript(std::move(out));
      } else if (is_sign("(")) {
        out = with_arguments(join(Kind::call, "", std::move(out)));
      } else {
        return out;
      }
    }
  }
  ExpressionPtr subscript(ExpressionPtr object) {
    ExpressionPtr begin, end, step;
    if (!is_sign(":")) {
      begin = expression();
      if (skip_sign("]")) return join(Kind::subscript, "", std::move(object), std::move(begin));
    }
    expect_sign(":");
    if (!is_sign("]") && !is_sign(":")) end = expression();
    if (skip_sign(":") && !is_sign("]")) step = expression();
    expect_sign("]");
    return join(Kind::slice, "", std::move(object), std::move(begin), std::move(end), std::move(step));
  }
  /// Reads "(a, b, key = c)" into a call, filter or test.
  ExpressionPtr with_arguments(ExpressionPtr out) {
    expect_sign("(");
    parts_until(")", [&] {
      if (is_sign("*") || is_sign("**")) stop("arguments with '*' are not supported");
      if (now().kind == Token::Kind::name && is(Token::Kind::sign, "=", 1)) {
        std::string key = take().text;
        take();
        out->named.emplace_back(std::move(key), expression());
      } else {
        if (!out->named.empty()) stop("an argument without a name stands behind one with a name");
        out->parts.push_back(expression());
      }
    });
    measure(*out);
    return out;
  }
  ExpressionPtr filtered(ExpressionPtr out) {
    while (true) {
      if (skip_sign("|")) out = filter(std::move(out));
      else if (skip_name("is")) out = test(std::move(out));
      else if (is_sign("(")) out = with_arguments(join(Kind::call, "", std::move(out)));
      else return out;
    }
  }
  ExpressionPtr filter(ExpressionPtr input) {
    const std::string filter_name = name();
    ExpressionPtr out = join(Kind::filter, filter_name, std::move(input));
    return is_sign("(") ? with_arguments(std::move(out)) : std::move(out);
  }
  ExpressionPtr test(ExpressionPtr input) {
    const bool is_negated = skip_name("not");
    const std::string test_name = name();
    ExpressionPtr out = join(Kind::test, test_name, std::move(input));
    const bool has_operand = now().kind == Token::Kind::string || now().kind == Token::Kind::integer ||
                             now().kind == Token::Kind::real || is_sign("[") || is_sign("{") ||
                             (now().kind == Token::Kind::name && !is_name("else") && !is_name("or") &&
                              !is_name("and") && !is_name("if") && !is_name("is"));
    if (is_sign("(")) {
      out = with_arguments(std::move(out));
    } else if (has_operand) {
      out->parts.push_back(postfix(primary()));
      measure(*out);
    }
    if (is_name("is")) stop("a second 'is' behind the first");
    return is_negated ? join(Kind::unary, "not", std::move(out)) : std::move(out);
  }

  // --- statements ---
  /// Up to a block that begins with one of `ends`, which is left to be read; up to the template's end without any.
  Body statements(std::initializer_list<std::string_view> ends) {
    const Nested nested(*this);
    Body body;
    while (now().kind != Token::Kind::end) {
      Statement next;
      next.line = now().line;
      if (now().kind == Token::Kind::text) {
        next.name = take().text;
      } else if (now().kind == Token::Kind::variable) {
        take();
        next.kind = Do::output;
        next.value = maybe_tuple();
        if (now().kind != Token::Kind::end_variable) stop("expected '}}}}', found {}", here());
        take();
      } else {
        const std::string& word = now(1).text;
        if (std::find(ends.begin(), ends.end(), word) != ends.end()) return body;
        if (word.starts_with("end") || word == "else" || word == "elif") {
          if (ends.size() == 0) return body;
          stop("{{% {} %}} does not belong here", word);
        }
        take();
        block(next);
      }
      body.push_back(std::move(next));
    }
    if (ends.size() > 0) stop("{{% {} %}} is missing", *(ends.end() - 1));
    return body;
  }
  /// Reads the end of a block's tag, its last body, and {% end %}.
  void last_body(Statement& out, std::string_view end) {
    end_block();
    out.bodies.push_back(statements({end}));
    take();
    expect_name(end);
    end_block();
  }
  /// Reads what follows a body before {% else %} or {% end %}.
  void otherwise(Statement& out, std::string_view end) {
    if (skip_name("else")) return last_body(out, end);
    expect_name(end);
    end_block();
  }

  void block(Statement& out) {
    const std::string word = name();
    if (word == "if") return branch(out);
    if (word == "for") return loop(out);
    if (word == "set") return assignment(out);
    if (word == "macro") return macro(out);
    if (word == "generation") {
      out.kind = Do::branch;  // without conditions
      return last_body(out, "endgeneration");
    }
    if (word == "filter") {
      out.kind = Do::capture;
      out.value = filtered(filter(make(Kind::captured)));
      return last_body(out, "endfilter");
    }
    if (word == "break" || word == "continue") {
      if (loops_ == 0) stop("{{% {} %}} is outside a loop", word);
      out.kind = word == "break" ? Do::leave : Do::next;
      return end_block();
    }
    stop("{{% {} %}} is not supported", quoted_name(word));
  }

  void branch(Statement& out) {
    out.kind = Do::branch;
    bool has_more = true;
    while (has_more) {
      out.conditions.push_back(maybe_tuple());
      end_block();
      out.bodies.push_back(statements({"elif", "else", "endif"}));
      take();
      has_more = skip_name("elif");
    }
    otherwise(out, "endif");
  }

  void loop(Statement& out) {
    out.kind = Do::loop;
    out.target = targets();
    expect_name("in");
    out.value = maybe_tuple(false);
    out.conditions.push_back(skip_name("if") ? expression() : nullptr);
    if (is_name("recursive")) stop("recursive loops are not supported");
    end_block();
    ++loops_;
    out.bodies.push_back(statements({"else", "endfor"}));
    --loops_;
    take();
    otherwise(out, "endfor");
  }

  /// A name, an attribute of a namespace, or several names.
  ExpressionPtr targets() {
    ExpressionPtr first = one_target();
    if (!is_sign(",")) return first;
    std::vector<ExpressionPtr> names;
    names.push_back(std::move(first));
    while (skip_sign(",") && now().kind == Token::Kind::name && !is_name("in")) names.push_back(one_target());
    return make(Kind::tuple, std::move(names));
  }
  ExpressionPtr one_target() {
    if (skip_sign("(")) {
      ExpressionPtr inner = targets();
      expect_sign(")");
      return inner;
    }
    ExpressionPtr out = make(Kind::variable, {}, name());
    if (skip_sign(".")) {
      const std::string attribute = name();
      out = join(Kind::attribute, attribute, std::move(out));
    }
    return out;
  }

  void assignment(Statement& out) {
    out.target = targets();
    if (skip_sign("=")) {
      out.kind = Do::assign;
      out.value = maybe_tuple();
      return end_block();
    }
    out.kind = Do::capture;
    if (skip_sign("|")) out.value = filtered(filter(make(Kind::captured)));
    last_body(out, "endset");
  }

  void macro(Statement& out) {
    if (loops_ > 0 || macros_ > 0) stop("a macro within a loop or a macro is not supported");
    out.kind = Do::macro;
    out.name = name();
    expect_sign("(");
    parts_until(")", [&] {
      std::string parameter = name();
      out.parameters.emplace_back(std::move(parameter), skip_sign("=") ? expression() : nullptr);
    });
    ++macros_;
    last_body(out, "endmacro");
    --macros_;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0, loops_ = 0, macros_ = 0;
};

}  // namespace

Body parse(const std::string& source) {
  require(source.size() <= most_bytes, "a template of {} bytes; at most {} are read", source.size(), most_bytes);
  require(valid_utf8(source) == source.size(), "byte {} is not UTF-8", valid_utf8(source));
  return Parser(tokenize(source)).run();
}

}  // namespace headroom::models::jinja
