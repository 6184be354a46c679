#pragma once
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// The paper's claims with our answers: a row for each figure and claim, in which the series that it was tried on stand
/// together, and a line for what has not been run.
Blocks guide_claims(const std::vector<Finding>& all);

/// A section for each heading that studies ask for ([study] guide), in the order in which they come: what each of their
/// claims came to, how a plan does against equal heads, and the law of the best number.
Blocks guide_sections(const std::vector<Finding>& all);

}  // namespace headroom::experiments
