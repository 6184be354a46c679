#pragma once
#include "engine/ops/attention/attention_problem.h"
#include "engine/ops/packed_rows/packed_rows.h"

namespace headroom::engine {

/// attention() over keys and values that a cache holds in fewer bits: q f32 (B, Tq, H, d_qk), k packed (B, Tk, H_kv,
/// d_qk), v packed (B, Tk, H_kv, d_v) → (B, Tq, H, d_v). Gives the bits of attention() over unpack_rows() of both. Few
/// queries unpack as they multiply; many queries, as in a prompt, unpack all. With `length`, i64 (1), only the first
/// length[0] rows exist, as in cached_attention(). Without dropout and gradient. Throws Error as attention() and
/// cached_attention() do.
Tensor packed_attention(const Tensor& q, const PackedRows& k, const PackedRows& v, const Tensor& slopes,
                        const AttentionOptions& options, const Tensor& length = {});

/// One call of packed_attention(), for its implementations.
struct PackedAttentionCall {
  Tensor q;
  PackedRows k, v;
  Tensor slopes, key_mask, length;
  AttentionProblem problem{};
  Attention out{};
  auto operands() {
    return std::array{real("q", q),
                      bytes("k", k.bytes),
                      bytes("v", v.bytes),
                      optional_real("slopes", slopes),
                      optional_mask("key_mask", key_mask),
                      optional_index("length", length)};
  }
};
/// By attention() over all rows unpacked, for calls without a length.
void packed_attention_unpacked(PackedAttentionCall& call);
extern Op<PackedAttentionCall> packed_attention_op;

}  // namespace headroom::engine
