#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/head_choice.h"

namespace headroom::experiments {

/// Where the guideline's search ends on curves of trained models.
struct GuidelineTally {
  int curves = 0, best = 0, good = 0, worse = 0;  ///< best: on validation; good, worse: against every other number
  double worst = 0;                               ///< the largest error among the worse, over the best
  int open() const { return curves - good - worse; }
};
GuidelineTally guideline_tally(const std::vector<HeadChoice>& choices);

/// In one sentence, how often the paper's guideline, to start with few heads and to search upward, ends at a number of
/// heads that is shown to be good, on curves of trained models; "" without any.
std::string guideline_sentence(const std::vector<HeadChoice>& choices);

/// The same as a page with a row per curve.
Blocks guideline_page(const std::vector<HeadChoice>& choices);

}  // namespace headroom::experiments
