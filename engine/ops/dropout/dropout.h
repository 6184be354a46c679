#pragma once
#include "engine/rng.h"
#include "engine/tensor.h"

namespace headroom::engine {

/// y_i = x_i / (1 - p) where random_bits(key, i) ≥ p · 2³², else 0 (Srivastava et al., 2014). A pure function of x, p
/// and key, linear in x: dx = dropout(dy, p, key), so that no mask is kept. Throws Error unless 0 ≤ p < 1 and the key's
/// offset is a multiple of four.
Tensor dropout(const Tensor& x, double p, const RngKey& key);

}  // namespace headroom::engine
