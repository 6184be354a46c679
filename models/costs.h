#pragma once
#include "models/cache_types.h"

namespace headroom::models {

/// The number of parameters of a config, without building the model.
int64_t parameter_count(const TransformerConfig& config);
/// The same for a config that is not checked yet: it may be beyond an integer.
double unchecked_parameter_count(const TransformerConfig& config);
/// The flops of one forward pass over `batch` sequences of `length`. Multiply-adds count 2; products only (no softmax,
/// no norms). A causal mask still costs the full L² products, as in the paper's efficiency analysis.
double forward_flops(const TransformerConfig& config, int64_t batch, int64_t length);
/// Cache bytes per token: keys and values of all layers, in f32 or in formats. Throws Error if some head's rows are not
/// whole blocks.
int64_t cache_bytes(const TransformerConfig& config, const CacheTypes& types = {});

}  // namespace headroom::models
