#pragma once
#include "models/norm.h"

namespace headroom::models {

/// Multiples of a head's keys, f32 (d), before a cache rounds them to blocks, and of the queries that meet them: one
/// over the other, so that scores stay. Undefined: 1.
struct KeyScales {
  Tensor keys, queries;
};

/// Scales that even queries and keys out, whose numbers have mean squares as the squares of their norms' weights.
/// Turned rows spread a rounding error over a head's width, so that the error of scores grows as
/// (Σ q_i² / s_i²)(Σ k_i² s_i²), which is least where s_i⁴ = q_i² / k_i². Gemma 3's keys are large where its queries
/// are small. Rotary pairs (i, i + d/2; interleaved: 2i, 2i + 1) share a mean square, and each counts as at least 1e-4
/// of the mean.
KeyScales even_key_scales(const NormLayer& q_norm, const NormLayer& k_norm, bool interleaved);

}  // namespace headroom::models
