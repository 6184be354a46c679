#pragma once
#include "engine/ops/attention/attention_kernel.h"

namespace headroom::engine {

/// The bf16 operands of an AttentionHead (as bits), with its strides; the head's own pointers are null.
struct AttentionHalves {
  const uint16_t *q, *k, *v;
};
struct AttentionHalvesGrad {
  const uint16_t *dy, *y;
  const float* lse;        ///< (group, queries)
  uint16_t *dq, *dk, *dv;  ///< strides as q, k, v
};

/// Floats of scratch memory for one call of the kernels below, 64-byte aligned.
HEADROOM_KERNEL_BF16(int64_t, attention_bf16_scratch, (const AttentionHead& head))
HEADROOM_KERNEL_BF16(int64_t, attention_bf16_grad_scratch, (const AttentionHead& head))

/// As attention_forward and attention_backward, with all products by dot_pairs() (engine/cpu/simd_bf16.h): scores and
/// sums are f32; probabilities and gradients of scores are rounded to bf16 before they are multiplied. The gradient
/// takes no slopes.
HEADROOM_KERNEL_BF16(void, attention_bf16_forward,
                     (const AttentionHead& head, const AttentionHalves& in, int64_t first, int64_t last, int64_t begin,
                      int64_t end, uint16_t* y, float* lse, float* scratch))
HEADROOM_KERNEL_BF16(void, attention_bf16_backward,
                     (const AttentionHead& head, const AttentionHalves& in, const AttentionHalvesGrad& grad,
                      float* scratch))

}  // namespace headroom::engine
