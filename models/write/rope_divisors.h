#pragma once
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// True if the scaling is GGUF's yarn: with the usual bounds, truncated.
bool has_gguf_yarn(const TransformerConfig& config);

/// The divisors of plain frequencies for Llama 3.1's scaling, for a yarn other than GGUF's, or for a head's own
/// frequencies (group.rope_frequencies): GGUF files hold them instead of the rule. Empty for other scalings.
std::vector<float> rope_divisors(const TransformerConfig& config);

/// The scaling that gives a head's own frequencies (group.rope_frequencies, as read from a GGUF file), to 1e-5. Of
/// matching Llama 3.1 rules it takes low = 1, and high = 4 if that matches; if none matches, or turned rows are
/// multiplied, it takes longrope with the divisors themselves for texts of any length.
RopeScaling scaling_of_frequencies(const TransformerConfig& config);

}  // namespace headroom::models
