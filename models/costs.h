#pragma once
#include "models/config.h"

namespace headroom::models {

/// Parameters of a config, without building it.
int64_t parameter_count(const TransformerConfig& config);
/// Multiply-adds count 2. Products only (no softmax, norms), of one forward pass over `batch` sequences of `length`;
/// with `causal` still the full L² products, as the paper's efficiency analysis counts.
double forward_flops(const TransformerConfig& config, int64_t batch, int64_t length);

}  // namespace headroom::models
