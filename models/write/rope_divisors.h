#pragma once
#include <vector>

#include "models/config.h"

namespace headroom::models {

/// What Llama 3.1's scaling, or a head's own frequencies (group.rope_frequencies), divide the plain ones by: GGUF files
/// hold these numbers in place of the rule. Empty where the scaling is another.
std::vector<float> rope_divisors(const TransformerConfig& config);

/// The rule that gives a head's own frequencies (group.rope_frequencies, as read from a GGUF file): of the rules that
/// do, that with low = 1, and with high = 4 where it is one of them. Throws Error where no rule of Llama 3.1 gives
/// them, to 1e-5.
RopeScaling scaling_of_frequencies(const TransformerConfig& config);

}  // namespace headroom::models
