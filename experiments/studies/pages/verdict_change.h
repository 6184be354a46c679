#pragma once
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

/// How firm verdicts are: what would change one, and what second-best choices make of them.
namespace headroom::experiments {

/// What would change a verdict, in a line: how far the number that decides it is from its threshold in its own standard
/// errors, how many seeds would decide what is undecided, which chosen values stand at an end of those tried, and that
/// the paper's profile deviates from the paper.
std::string what_would_change(const StudyResults& results, const Verdict& verdict);

/// What the second-best values make of the decided verdicts.
struct SecondBest {
  std::string sentence;  ///< how many keep their side of the threshold; "" where none depends on them
  std::vector<std::string>
      turned;  ///< for each verdict: "turns at the second-best lr: 620× [31, 12176]"; "" if it does not
};
/// A claim that is undecided with the second-best values, which often have fewer
/// seeds, counts by its estimate.
SecondBest second_best(const Analysis& results);

}  // namespace headroom::experiments
