#pragma once
#include <string>

#include "experiments/studies/claims/claims.h"

namespace headroom::experiments {

/// Whether more seeds could decide a verdict: not where nothing was learned, or where fewer than two seeds say nothing
/// of their spread.
bool is_about_seeds(const Verdict& verdict);

/// What would change a verdict, in a line: how far the number that decides it is from its threshold in its own standard
/// errors, how many seeds would decide what is undecided, which chosen values stand at an end of those tried, and that
/// a pilot is not the paper's own experiment.
std::string what_would_change(const StudyResults& results, const Verdict& verdict);

}  // namespace headroom::experiments
