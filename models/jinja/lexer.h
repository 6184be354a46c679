#pragma once
#include <string>
#include <vector>

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

}  // namespace headroom::models::jinja
