#pragma once
#include "engine/ops/attention/attention_kernel.h"
#include "engine/ops/attention/attention_problem.h"
#include "engine/ops/attention/packed_attention.h"

namespace headroom::engine {

/// This thread's scratch memory, 64-byte aligned and kept for its next task.
float* attention_memory(int64_t floats);

/// The number of tasks to hand out together, so that tiny heads do not pay for the hand-over: a task multiplies `rows`
/// queries by `keys` keys.
int64_t attention_tasks_at_once(const AttentionProblem& p, int64_t rows, int64_t keys);

/// Sequence b's key-value head `kv_head` for the kernels, without its operands, as if q, k and v held only its own
/// rows. Slopes are f32.
AttentionHead attention_head(const AttentionProblem& p, const Tensor& slopes, int64_t b, int64_t kv_head);

/// attention() by the f32 kernels. q, k and v may be strided: reads a slice of a key-value cache in place.
void attention_tiled(AttentionCall& call);

/// True if attention_few serves this problem: few queries (half of a tile), fewer than keys, and no dropout. Never true
/// for self-attention over a whole sequence, so that one kernel trains a model at any length.
bool few_queries(const AttentionProblem& problem);

/// The same for few queries against many keys, as in decoding with a key-value cache: pads and packs nothing, and a
/// group's query heads read their keys and values once, together.
void attention_few(AttentionCall& call);

/// The same over packed keys and values: each task unpacks its chunk as it multiplies it.
void packed_attention_few(PackedAttentionCall& call);

/// attention_grad() by the f32 kernels; every operand is contiguous.
void attention_grad_tiled(AttentionGradCall& call);

/// True if attention_by_lanes serves this problem faster than tiles: sequences of at most 64 tokens without dropout,
/// and enough heads and sequences to fill vectors. Both give the same bits.
bool fills_lanes(const AttentionProblem& problem);
/// The same with a head in each lane of a vector. q, k and v may be strided, but not for the gradient.
void attention_by_lanes(AttentionCall& call);
void attention_grad_by_lanes(AttentionGradCall& call);

/// The tasks of a forward pass over tiles.
struct AttentionCut {
  int64_t piece, pieces, together, shares, tasks;
  explicit AttentionCut(const AttentionProblem& p);
  struct Task {
    int64_t b, kv_head, first, query;  ///< of the sequences, key-value heads, heads of a group, and queries
  };
  Task at(const AttentionProblem& p, int64_t task) const {
    return {task / pieces / shares / p.kv_heads, task / pieces / shares % p.kv_heads, task / pieces % shares * together,
            task % pieces * piece};
  }
};

/// attention() and its gradient in bf16 by products of pairs: heads wider than 4; the gradient without slopes.
void attention_pairs(AttentionCall& call);
void attention_grad_pairs(AttentionGradCall& call);
bool takes_pairs(const AttentionCall& call);
bool takes_pairs_grad(const AttentionGradCall& call);

/// Any call in bf16: each task widens its head's rows for the f32 kernels and rounds their results. lse is f32.
void attention_widened(AttentionCall& call);
void attention_grad_widened(AttentionGradCall& call);

}  // namespace headroom::engine
