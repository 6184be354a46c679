#pragma once
#include "engine/ops/attention/cached_attention.h"
#include "engine/ops/attention/packed_attention.h"

// Attention's GPU implementations, each in its own file.
namespace headroom::engine::cuda {

/// The narrow kernels serve f32 heads up to this width, of q and of v: a query's row stays in one thread.
inline constexpr int64_t narrow_width = 16;
void attention_narrow(AttentionCall& call);
void attention_narrow_grad(AttentionGradCall& call);

/// f32, f64 and bf16, heads of any width, in tiles of 64 queries and 64 keys; arithmetic in f32, for f64 in f64.
void attention_wide(AttentionCall& call);
void attention_wide_grad(AttentionGradCall& call);

/// f32 heads without slopes whose widths are multiples of 4, with more than 64 queries and keys: tiles of 128 queries.
inline bool fits_blocks(const AttentionProblem& p) {
  return p.qk_dim % 4 == 0 && p.v_dim % 4 == 0 && std::min(p.queries, p.keys) > 64;
}
void attention_block(AttentionCall& call);

/// The gradient of such heads: keeps p and ds in memory for some key-value heads at a time, with all their query heads.
struct StoredShare {
  int64_t heads = 0;  ///< at a time; 0: refused, because one alone needs more than `most_stored_bytes`
  int64_t line = 0;   ///< keys, rounded up to 64
  int64_t bytes = 0;  ///< for all heads of a share
};
inline constexpr int64_t most_stored_bytes = int64_t{256} << 20;

inline StoredShare stored_share(const AttentionProblem& p) {
  constexpr int64_t most_heads = 65535;  // blocks of a launch along z
  const int64_t line = (p.keys + 63) / 64 * 64, heads = p.batch * p.kv_heads;
  const int64_t bytes = 2 * p.group() * p.queries * line * static_cast<int64_t>(sizeof(float));
  const bool is_narrow = std::max(p.qk_dim, p.v_dim) <= narrow_width && p.window == 0;
  if (heads == 0 || is_narrow || !fits_blocks(p) || bytes > most_stored_bytes) return {};
  const int64_t most = std::min(most_heads, most_stored_bytes / bytes), shares = (heads + most - 1) / most;
  const int64_t share = (heads + shares - 1) / shares;  // as even as possible
  return {share, line, share * bytes};
}
void attention_stored_grad(AttentionGradCall& call);

/// Tensor cores serve bf16 heads up to this width; sums and softmax in f32.
inline constexpr int64_t tensor_core_width = 128;
void attention_tensor_core(AttentionCall& call);
void attention_tensor_core_grad(AttentionGradCall& call);

/// f32, f64 and bf16, few queries against many keys without dropout: chunks of keys in parallel, joined in order.
inline constexpr int64_t most_few_queries = 16, most_split_width = 512;
void attention_split(AttentionCall& call);
/// The same if only the device knows the number of keys.
void attention_split_cached(CachedAttentionCall& call);
/// The same over packed keys and values, with or without such a length.
void attention_split_packed(PackedAttentionCall& call);

}  // namespace headroom::engine::cuda
