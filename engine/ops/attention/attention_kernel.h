#pragma once
#include <cstdint>

#include "engine/kernel.h"
#include "engine/quantized/format.h"

namespace headroom::engine {

/// One key-value head of one sequence and the `group` query heads that read it, for the kernels. A pointer is to the
/// first token's row; a stride is between tokens' rows, in elements. Query head g of the group starts g · q_head_stride
/// after the first; its row of y g · v_dim after the first's.
struct AttentionHead {
  const float *q, *k, *v;
  int64_t q_stride, q_head_stride, k_stride, v_stride, y_stride;
  int64_t queries, keys, qk_dim, v_dim, group;
  bool causal;
  int64_t window;  ///< > 0: query i sees no key before i + keys - queries - window + 1
  float scale;
  const bool* key_mask;  ///< (keys) or null
  const float* slopes;   ///< (group) or null
  bool dropout;
  uint32_t dropped_below;      ///< elements with random bits below it are dropped
  float kept_scale;            ///< 1 / (1 - dropout)
  uint64_t seed, first_index;  ///< of the random bits; first_index is for element (g = 0, i = 0, j = 0)
  uint32_t stream;
  int64_t first_row = 0;  ///< index of the first key in k and v
};

struct AttentionHeadGrad {
  const float *dy, *y, *lse;      ///< lse (group, queries)
  float *dq, *dk, *dv, *dslopes;  ///< strides as q, k, v; dslopes (group) or null
};

/// Floats of scratch memory for one call of the kernels below, 64-byte aligned.
HEADROOM_KERNEL_AVX512(int64_t, attention_scratch, (const AttentionHead& head))
HEADROOM_KERNEL_AVX512(int64_t, attention_grad_scratch, (const AttentionHead& head))
HEADROOM_KERNEL_AVX512(int64_t, attention_chunk_scratch, (const AttentionHead& head))

/// y and lse (group, queries) of query heads [first, last), queries [begin, end). Packs keys and values once.
HEADROOM_KERNEL_AVX512(void, attention_forward,
                       (const AttentionHead& head, int64_t first, int64_t last, int64_t begin, int64_t end, float* y,
                        float* lse, float* scratch))
/// dq of all the group's heads, dk, dv and dslopes. Query heads must be contiguous: q_head_stride = qk_dim.
HEADROOM_KERNEL_AVX512(void, attention_backward,
                       (const AttentionHead& head, const AttentionHeadGrad& grad, float* scratch))

/// The largest number of few queries: half a tile's padded size. Measured: up to there a query takes less time below
/// than in its share of a tile, for all widths and groups.
HEADROOM_KERNEL_AVX512(int64_t, attention_few_queries, ())
/// Keys per chunk for few queries and many keys, from the first key any query sees, in order or in parallel: the number
/// of older keys before it does not change any bit.
inline constexpr int64_t attention_chunk = 256;
/// Floats of one chunk's partial result.
HEADROOM_KERNEL_AVX512(int64_t, attention_part, (const AttentionHead& head))
/// The partial result of keys [begin, end), one chunk, for every query of the group: the largest score, the sum of
/// exponentials relative to it, and the sum of values weighted by them. No dropout.
HEADROOM_KERNEL_AVX512(void, attention_chunk_part,
                       (const AttentionHead& head, int64_t begin, int64_t end, float* part, float* scratch))
/// A head's keys and values as rows of blocks, in one of packed_formats; strides in bytes.
struct PackedHead {
  const uint8_t *k, *v;  ///< of key 0
  int64_t k_stride, v_stride;
  BlockFormat format;
};
/// The same for rows in blocks, converted in registers; both widths are at least attention_packed_width().
HEADROOM_KERNEL_AVX512(void, attention_packed_part,
                       (const AttentionHead& head, const PackedHead& packed, int64_t begin, int64_t end, float* part,
                        float* scratch))
HEADROOM_KERNEL_AVX512(int64_t, attention_packed_width, ())
/// y and lse (group, queries) from the parts of all chunks, in order of the keys.
HEADROOM_KERNEL_AVX512(void, attention_join,
                       (const AttentionHead& head, const float* parts, int64_t chunks, float* y, float* lse))

}  // namespace headroom::engine
