#pragma once
#include <cstdint>

#include "engine/kernel.h"

namespace headroom::engine {

/// One key-value head of one sequence and the `group` query heads that read it, as the kernels see it. A pointer is the
/// first token's row; a stride is the distance from one token's row to the next, in elements. Query heads of the group
/// follow one another: head g's row starts g · width further.
struct AttentionHead {
  const float *q, *k, *v;
  int64_t q_stride, k_stride, v_stride, y_stride;
  int64_t queries, keys, qk_dim, v_dim, group;
  bool causal;
  float scale;
  const bool* key_mask;  ///< (keys) or null
  const float* slopes;   ///< (group) or null
  bool dropout;
  uint32_t dropped_below;      ///< an element with random bits below it is dropped
  float kept_scale;            ///< 1 / (1 - dropout)
  uint64_t seed, first_index;  ///< of the random bits; first_index is element (g = 0, i = 0, j = 0)
  uint32_t stream;
};

struct AttentionHeadGrad {
  const float *dy, *y, *lse;      ///< lse (group, queries)
  float *dq, *dk, *dv, *dslopes;  ///< strides as q, k, v; dslopes (group) or null
};

/// Floats of scratch memory that one call of the kernels below needs, 64-byte aligned.
HEADROOM_KERNEL(int64_t, attention_scratch, (const AttentionHead& head), (head))
HEADROOM_KERNEL(int64_t, attention_grad_scratch, (const AttentionHead& head), (head))

/// y and lse (group, queries) of query head g, queries [begin, end).
HEADROOM_KERNEL(void, attention_forward,
                (const AttentionHead& head, int64_t g, int64_t begin, int64_t end, float* y, float* lse,
                 float* scratch),
                (head, g, begin, end, y, lse, scratch))
/// dq of every head of the group, dk, dv and dslopes.
HEADROOM_KERNEL(void, attention_backward, (const AttentionHead& head, const AttentionHeadGrad& grad, float* scratch),
                (head, grad, scratch))

}  // namespace headroom::engine
