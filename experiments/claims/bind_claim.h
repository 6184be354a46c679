#pragma once
#include <string>
#include <vector>

#include "experiments/claims/claim_config.h"
#include "experiments/toml/schema.h"

namespace headroom::experiments {

/// Reads one [[claim]] of a study with these series.
ClaimConfig bind_claim(Reader& in, const std::vector<std::string>& series);

/// Makes one key of those that several kinds read in the same words: `with kind = "slope" or "band"`. Puts them into a
/// fixed order; a key that the order does not name comes behind, in the order of the kinds.
void join_claim_keys(Schema& schema);

}  // namespace headroom::experiments
