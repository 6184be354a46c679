#pragma once
#include <functional>
#include <string>

namespace headroom::experiments {

/// Value of an arithmetic expression ("width / heads", "model.heads % 2 == 0") by muParser; `lookup` gives each name's
/// value or throws Error. Numbers have a decimal point, names may have dots, `,` only parts the arguments of a
/// function, and `=` only compares. Throws Error in words (without a place) when the text is no such expression, is
/// longer than 1,000 characters or nested deeper than 64, or when its value is not finite.
double evaluate(const std::string& text, const std::function<double(const std::string&)>& lookup);

}  // namespace headroom::experiments
