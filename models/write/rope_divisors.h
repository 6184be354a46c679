#pragma once
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// Whether the scaling is the yarn of GGUF files: with the usual bounds, truncated.
bool has_gguf_yarn(const TransformerConfig& config);

/// What Llama 3.1's scaling, another yarn than GGUF's, or a head's own frequencies (group.rope_frequencies) divide the
/// plain ones by: GGUF files hold these numbers in place of the rule. Empty where the scaling is another.
std::vector<float> rope_divisors(const TransformerConfig& config);

/// The scaling that gives a head's own frequencies (group.rope_frequencies, as read from a GGUF file), to 1e-5: of the
/// rules of Llama 3.1 that do, that with low = 1, and with high = 4 where it is one of them; where none does, or turned
/// rows are multiplied, longrope with the divisors themselves for texts of any length.
RopeScaling scaling_of_frequencies(const TransformerConfig& config);

}  // namespace headroom::models
