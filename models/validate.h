#pragma once
#include "models/config.h"

namespace headroom::models {

/// Throws Error naming the field and what is allowed.
void validate(const TransformerConfig& config);

}  // namespace headroom::models
