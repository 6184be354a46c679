#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/analysis/case.h"

namespace headroom::experiments {

// What leaves a claim that compares trained models open, whatever its p-values: a reason in words, none where there is
// none.

/// The claim's own series, and the other one where it compares two.
std::vector<Curve> compared_curves(const Case& c);

/// Not even the best value of the series that it compares has learned the target.
std::optional<std::string> unlearned(const Case& c);

/// What its set-up has against any decision about trained models, in the order in which it counts: a key of which one
/// value was tried or whose best stands at an end of those tried, so that another may turn the comparison; a best value
/// chosen on the items that it is tested on, where luck with those items counts as skill; one seed.
std::vector<Hindrance> hindrances(const Case& c);

/// A model with at least twice the parameters of another on its curve has no cross-entropy that is lower by the
/// smallest effect that counts: the training fell short, and more seeds would say more exactly by how much, but not
/// what the models can do.
std::optional<std::string> outgrown(const Case& c);

}  // namespace headroom::experiments
