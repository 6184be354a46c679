#pragma once
#include <functional>
#include <string>

namespace headroom::experiments {

/// Value of an arithmetic expression ("width / heads", "model.heads % 2 == 0") by muParser; `lookup` gives each name's
/// value or throws Error. Throws Error in words (without a place) when the text is no expression or its value is not
/// finite.
double evaluate(const std::string& text, const std::function<double(const std::string&)>& lookup);

}  // namespace headroom::experiments
