#pragma once
#include "engine/ops/attention/packed_attention.h"

namespace headroom::engine {

/// attention() by the f32 kernels. q, k and v may be strided: a slice of a key-value cache is read where it lies.
void attention_tiled(AttentionCall& call);

/// Whether attention_few serves this problem: few queries (half of a tile), fewer than keys, and no dropout.
/// Self-attention over a whole sequence never is one, so that a model is trained by one kernel whatever its length.
bool few_queries(const AttentionProblem& problem);

/// The same for few queries against many keys, as decoding with a key-value cache asks for: nothing is padded or
/// packed, and the query heads of a group read their keys and values once, together.
void attention_few(AttentionCall& call);
/// The same over packed keys and values: each task unpacks its chunk where it multiplies it.
void packed_attention_few(PackedAttentionCall& call);

/// attention_grad() by the f32 kernels; every operand is contiguous.
void attention_grad_tiled(AttentionGradCall& call);

}  // namespace headroom::engine
