#pragma once
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/results_page.h"

namespace headroom::experiments {

/// The paper's claims with our answers: a row for each figure and claim, in which the series that it was tried on stand
/// together, and a line for what has not been run.
std::vector<Block> guide_claims(const std::vector<Finding>& all);

}  // namespace headroom::experiments
