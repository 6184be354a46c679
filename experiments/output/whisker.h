#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"

namespace headroom::experiments {

/// The bounds of a number: "≥ 1.1×", "0.9 to 1.1".
std::string bound_words(const Whisker& whisker);

/// The numbers of one verdict on one scale, as inline SVG: each a dot with its interval, limits as lines, and the
/// range where the claim holds shaded. "" if none is finite.
std::string whiskers_html(const std::vector<Whisker>& whiskers);

}  // namespace headroom::experiments
