#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/jinja/value.h"

namespace headroom::models::jinja {

struct Token {
  enum class Kind { text, name, string, integer, real, sign, block, variable, end_block, end_variable, end };
  Kind kind = Kind::end;
  std::string text;  ///< a string's value, a name, the digits of a number, or a sign
  int line = 0;
};

/// The tokens of a template; text in front of a block that takes its white space is cut here. Throws Error naming the
/// line for a comment, block or string without an end.
std::vector<Token> tokenize(const std::string& source);

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// An expression of Jinja2's grammar.
struct Expression {
  enum class Kind {
    constant,   ///< value
    captured,   ///< the text of a block that filters are applied to
    variable,   ///< name
    list,       ///< parts
    tuple,      ///< parts
    dict,       ///< parts: key, value, key, value, …
    attribute,  ///< parts[0].name
    subscript,  ///< parts[0][parts[1]]
    slice,      ///< parts[0][parts[1]:parts[2]:parts[3]], each of the three may be null
    call,       ///< parts[0](parts[1], …, named)
    filter,     ///< parts[0] | name(parts[1], …, named)
    test,       ///< parts[0] is name(parts[1], …, named)
    unary,      ///< name: "-", "+" or "not"
    binary,     ///< name: an arithmetic operator, "~", "and" or "or"
    compare,    ///< parts[0] operators[0] parts[1] operators[1] parts[2] …
    choice      ///< parts[0] if parts[1] else parts[2], which may be null
  };
  Kind kind = Kind::constant;
  int line = 0;
  int depth = 1;  ///< of expressions within it, itself included
  std::string name;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> operators;
};

struct Statement;
using Body = std::vector<Statement>;

/// What a template writes or does, in order.
struct Statement {
  enum class Kind {
    text,     ///< name
    output,   ///< value
    branch,   ///< bodies[i] where conditions[i] is the first that is true, else the last body if there is one more
    loop,     ///< for target in value, if conditions[0] (may be null): bodies[0]; bodies[1] where there was none
    assign,   ///< target = value
    capture,  ///< target = what bodies[0] writes, through value (filters; may be null); no target: it is written
    macro,    ///< name(parameters, each with a value or null): bodies[0]
    leave,    ///< break
    next      ///< continue
  };
  Kind kind = Kind::text;
  int line = 0;
  std::string name;
  ExpressionPtr target, value;
  std::vector<ExpressionPtr> conditions;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;
  std::vector<Body> bodies;
};

/// Parses a template as transformers sets Jinja2 up: the first line end behind a block goes, white space before one,
/// too; with break, continue and {% generation %}. Throws Error naming the line for what is not in the grammar, for
/// blocks of other files ({% include %}, …), for nesting of more than 100, for more than 1 MiB, and for what is not
/// UTF-8.
Body parse(const std::string& source);

}  // namespace headroom::models::jinja
