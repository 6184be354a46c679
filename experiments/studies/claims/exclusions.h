#pragma once
#include <vector>

#include "experiments/studies/claims/claim_config.h"

namespace headroom::experiments {

class Reader;

/// Reports an `id` that one of the claims above has, an excluded claim that is none of them, and a pair whose
/// thresholds would let both be true: an effect of 5 % at least, and none above 10 %.
void check_exclusions(Reader& in, const ClaimConfig& claim, const std::vector<ClaimConfig>& above);

}  // namespace headroom::experiments
