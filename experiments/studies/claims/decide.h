#pragma once
#include <optional>
#include <vector>

#include "experiments/studies/claims/claims.h"
#include "experiments/studies/claims/hypothesis.h"

namespace headroom::experiments {

/// Gives each verdict of a study its status, p-values and closing words. hypotheses[i] is what decides verdicts[i]:
/// none where that is decided already. `level` is the share of the claims' significance that may be spent.
void decide(std::vector<Verdict>& verdicts, const std::vector<std::optional<Hypothesis>>& hypotheses, double level);

}  // namespace headroom::experiments
