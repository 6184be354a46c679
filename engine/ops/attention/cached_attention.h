#pragma once
#include "engine/ops/attention/attention_problem.h"

namespace headroom::engine {

/// attention() of the latest tokens over partly filled key-value caches whose length only the device knows: causal,
/// without dropout and gradient. q (B, Tq, H, d_qk), k (B, capacity, H_kv, d_qk), v (B, capacity, H_kv, d_v), slopes
/// (H) or undefined, length i64 (1), clamped to [0, capacity]: query i is token length - Tq + i → (B, Tq, H, d_v).
/// Gives the bits of attention() over the first `length` keys if that runs by few queries; `window` as
/// AttentionOptions::window. Never waits for the device; on a GPU Tq ≤ 16 and d_qk ≤ 512. Throws Error naming shapes
/// that do not fit.
Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes, double scale,
                        const Tensor& length, int64_t window = 0);

/// A checked call; the problem's keys are the whole caches.
struct CachedAttentionCall {
  Tensor q, k, v, slopes, length;
  AttentionProblem problem{};
  Attention out{};
  auto operands() {
    return std::array{real("q", q), real("k", k), real("v", v), optional_real("slopes", slopes),
                      index("length", length)};
  }
};
extern Op<CachedAttentionCall> cached_attention_op;

}  // namespace headroom::engine
