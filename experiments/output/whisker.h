#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"

namespace headroom::experiments {

/// A number with its interval: "2.95× [2.1, 4.2]"; a ratio near 1, and its bounds, as what it adds:
/// "+0.5 % [-0.6 %, +1.5 %]". Digits enough to tell all of them from the bounds.
std::string interval_words(const Whisker& whisker);
/// Whether that is in percent.
bool is_in_percent(const Whisker& whisker);

/// The bounds of a number, to as many digits: "≥ 1.1×", "0.9 to 1.1", "≤ +1 %".
std::string bound_words(const Whisker& whisker);

/// The numbers of one verdict on one scale, as inline SVG: each a dot with its interval, limits as lines, and the
/// range where the claim holds shaded. "" if none is finite.
std::string whiskers_html(const std::vector<Whisker>& whiskers);

}  // namespace headroom::experiments
