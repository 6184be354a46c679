#pragma once
#include "engine/ops/attention/attention_problem.h"

namespace headroom::engine {

/// attention() by the f32 kernels. q, k and v may be strided: a slice of a key-value cache is read where it lies.
void attention_tiled(AttentionCall& call);

/// Whether attention_few serves this call: few queries (half of a tile), fewer than keys, and no dropout.
/// Self-attention over a whole sequence never is one, so that a model is trained by one kernel whatever its length.
bool few_queries(const AttentionCall& call);

/// The same for few queries against many keys, as decoding with a key-value cache asks for: nothing is padded or
/// packed, and the query heads of a group read their keys and values once, together.
void attention_few(AttentionCall& call);

/// attention_grad() by the f32 kernels; every operand is contiguous.
void attention_grad_tiled(AttentionGradCall& call);

}  // namespace headroom::engine
