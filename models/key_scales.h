#pragma once
#include "models/norm.h"

namespace headroom::models {

/// Factors for a head's keys, f32 (d) on their device, before a cache rounds them to blocks, and the inverse factors
/// for its queries: scores do not change. Undefined: 1.
struct KeyScales {
  Tensor keys, queries;
};

/// Scales that balance queries and keys, whose mean squares are taken as their norms' squared weights. Turned rows
/// spread a rounding error over a head's width, so the score error grows as (Σ q_i² / s_i²)(Σ k_i² s_i²), minimal for
/// s_i⁴ = q_i² / k_i². Gemma 3's keys are large where its queries are small. Rotary pairs (i, i + d/2; interleaved: 2i,
/// 2i + 1) share a mean square of at least 1e-4 of the mean.
KeyScales even_key_scales(const NormLayer& q_norm, const NormLayer& k_norm, bool interleaved);

}  // namespace headroom::models
