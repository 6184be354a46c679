#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// Rotary position embedding (Su et al., "RoFormer", 2021). Each pair (a, c) of the last axis is turned by an angle
/// that grows with its token's position t:
///
///   θ_i = t · base^(-2i/D),   a' = a cos θ_i - c sin θ_i,   c' = c cos θ_i + a sin θ_i,   i = 0 … D/2 - 1
///
/// x (B, T, H, D), positions i64 (T) or (B, T). Pair i is elements (2i, 2i + 1) when `interleaved`, else (i, i + D/2).
/// Angles are computed in f64, whatever x is. Throws Error when D is odd, base is not positive or positions do not fit.
Tensor rope(const Tensor& x, const Tensor& positions, double base, bool interleaved);

/// dx: dy turned back, by -θ.
Tensor rope_grad(const Tensor& dy, const Tensor& positions, double base, bool interleaved);

}  // namespace headroom::engine
