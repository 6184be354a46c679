#pragma once
#include "engine/ops/attention/attention_problem.h"

namespace headroom::engine {

/// attention() by the f32 kernels, into `out` of the right shape. q, k and v may be strided, as long as each head's row
/// of one token lies in one piece (head_rows): a slice of a key-value cache is read where it lies.
void attention_tiled(const AttentionProblem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                     const Attention& out);

/// Whether attention_few serves this problem: at most four queries, fewer than keys, and no dropout. Self-attention
/// over a whole sequence never is one, so that a model is trained by one kernel whatever its length.
bool few_queries(const AttentionProblem& p);

/// The same for few queries against many keys, as decoding with a key-value cache asks for: nothing is padded or
/// packed, and the query heads of a group read their keys and values once, together.
void attention_few(const AttentionProblem& p, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                   const Attention& out);

/// attention_grad() by the f32 kernels; every operand is contiguous. dslopes (B, H), where slopes are given.
void attention_grad_tiled(const AttentionProblem& p, const Tensor& dy, const Tensor& q, const Tensor& k,
                          const Tensor& v, const Tensor& slopes, const Attention& forward, const AttentionGrad& out,
                          const Tensor& dslopes);

/// x (B, T, H, d) itself when every row of d lies in one piece, else a row-major copy.
Tensor head_rows(const Tensor& x);

}  // namespace headroom::engine
