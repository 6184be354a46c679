#pragma once
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// A section for each heading that studies ask for ([study] guide), in the order in which they come: what each of their
/// claims came to, how a plan does beside equal heads, and the law of the best number.
std::vector<Block> guide_sections(const std::vector<Finding>& all);

}  // namespace headroom::experiments
