#pragma once
#include "models/cache_types.h"

namespace headroom::models {

/// Parameters of a config, without building it.
int64_t parameter_count(const TransformerConfig& config);
/// Multiply-adds count 2. Products only (no softmax, norms), of one forward pass over `batch` sequences of `length`;
/// with `causal` still the full L² products, as the paper's efficiency analysis counts.
double forward_flops(const TransformerConfig& config, int64_t batch, int64_t length);
/// Bytes that a cache holds of one token: keys and values of all layers, in f32 or in formats. Throws Error when their
/// blocks do not fill the rows of some head.
int64_t cache_bytes(const TransformerConfig& config, const CacheTypes& types = {});

}  // namespace headroom::models
