#include "experiments/toml/expression.h"

#include <muParser.h>

#include <cmath>

#include "engine/error.h"

namespace headroom::experiments {

namespace {

double remainder_of(double a, double b) { return std::fmod(a, b); }

}  // namespace

double evaluate(const std::string& text, const std::function<double(const std::string&)>& lookup) {
  double value = 0;
  try {
    mu::Parser parser;
    parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    parser.DefineOprt("%", remainder_of, mu::prMUL_DIV);
    parser.SetExpr(text);
    // A copy: defining a constant clears the parser's own list.
    const mu::varmap_type names = parser.GetUsedVar();
    for (const auto& [name, unused] : names) parser.DefineConst(name, lookup(name));
    value = parser.Eval();
  } catch (const mu::Parser::exception_type& error) {
    fail("cannot evaluate \"{}\": {}", text, error.GetMsg());
  }
  require(std::isfinite(value), "\"{}\" is not finite", text);
  return value;
}

}  // namespace headroom::experiments
