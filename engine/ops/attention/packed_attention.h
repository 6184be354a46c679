#pragma once
#include "engine/ops/attention/attention_problem.h"
#include "engine/quantized/packed_rows.h"

namespace headroom::engine {

/// attention() over keys and values that a cache holds in fewer bits: q f32 (B, Tq, H, d_qk), k packed (B, Tk, H_kv,
/// d_qk), v packed (B, Tk, H_kv, d_v) → (B, Tq, H, d_v). Gives the bits of attention() over unpack_rows() of both. Few
/// queries unpack one chunk of each head at a time; many queries, as in a prompt, unpack all. On the CPU, without
/// dropout and gradient. Throws Error as attention() does.
Tensor packed_attention(const Tensor& q, const PackedRows& k, const PackedRows& v, const Tensor& slopes,
                        const AttentionOptions& options);

/// One call of packed_attention(), for its implementations.
struct PackedAttentionCall {
  Tensor q;
  PackedRows k, v;
  Tensor slopes, key_mask;
  AttentionProblem problem{};
  Attention out{};
  auto operands() {
    return std::array{real("q", q), optional_real("slopes", slopes), optional_mask("key_mask", key_mask)};
  }
};
extern Op<PackedAttentionCall> packed_attention_op;

}  // namespace headroom::engine
