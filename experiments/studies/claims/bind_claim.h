#pragma once
#include "experiments/studies/claims/claim_config.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/toml/schema.h"

namespace headroom::experiments {

/// Reads one [[claim]] of a study. A claim that no measurement of this study could decide is a problem.
/// `above`: the claims that stand before it in the file.
ClaimConfig bind_claim(Reader& in, const StudyScope& study, const std::vector<ClaimConfig>& above);

/// Makes one key of those that several kinds read in the same words: `with kind = "slope" or "band"`. Puts them into a
/// fixed order; a key that the order does not name comes behind, in the order of the kinds.
void join_claim_keys(Schema& schema);

}  // namespace headroom::experiments
