#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/claims/case.h"

namespace headroom::experiments {

// What leaves a claim that compares trained models open, whatever its p-values: a reason in words, none where there is
// none.

/// The claim's own series, and the other one where it compares two.
std::vector<Curve> compared_curves(const Case& c);

/// Not even the best value of the series that it compares has learned the target.
std::optional<std::string> unlearned(const Case& c);

/// Values of a key were not chosen among several for each x, or the best stands at an end of those tried: another value
/// may turn the comparison.
std::optional<std::string> untuned(const Case& c);

}  // namespace headroom::experiments
