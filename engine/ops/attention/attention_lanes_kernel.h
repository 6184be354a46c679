#pragma once
#include "engine/ops/attention/attention_kernel.h"

namespace headroom::engine {

/// All heads of all sequences. Pair n is key-value head n % kv_heads of sequence n / kv_heads, with the query heads
/// that read it. `first` is pair 0; its key_mask is (B, keys), its slopes are (H).
struct AttentionPairs {
  AttentionHead first;
  int64_t kv_heads;
  int64_t q_sequence, k_sequence, v_sequence;  ///< strides between sequences
  int64_t k_head, v_head;                      ///< and between key-value heads
};

/// Pairs that one call of the kernels below takes: one in each lane of a vector. A lane's numbers never meet another's.
HEADROOM_KERNEL_AVX512(int64_t, attention_lanes, ())
/// Floats of scratch memory for one call, 64-byte aligned.
HEADROOM_KERNEL_AVX512(int64_t, attention_lanes_scratch, (const AttentionHead& first))

/// y (B, Tq, H, d_v) and lse (B, H, Tq) of pairs [begin, begin + count), count ≤ attention_lanes(). No dropout.
HEADROOM_KERNEL_AVX512(void, attention_lanes_forward,
                       (const AttentionPairs& all, int64_t begin, int64_t count, float* y, float* lse, float* scratch))
/// Their dq, dk, dv and dslopes (B, H). Operands and results are contiguous.
HEADROOM_KERNEL_AVX512(void, attention_lanes_backward,
                       (const AttentionPairs& all, const AttentionHeadGrad& grad, int64_t begin, int64_t count,
                        float* scratch))

}  // namespace headroom::engine
