#pragma once
#include <string>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// What a study answers to its question.
struct Answer {
  std::string words;     ///< a sentence; a second one where learning rates were tuned at some x only
  std::string mismatch;  ///< why the study's own words are not those: verdicts that they suppose and that differ; or ""
};

/// In one sentence what the claims come to, with how many hold, fail and are undecided. The words are the study's own
/// (`[study] answer`) where every verdict that they suppose is so. Else they group the claim that most series are
/// judged by: "Depends on positions: “few heads and many heads both do worse than a number in between” holds with
/// sinusoidal, fails with alibi, learned; 7 hold, 3 fail, 4 undecided in a pilot." Without such a claim, finding();
/// where nothing is decided because nothing was learned, nothing_learned().
Answer answer(const Analysis& results);

}  // namespace headroom::experiments
