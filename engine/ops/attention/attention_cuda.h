#pragma once
#include "engine/ops/attention/cached_attention.h"

// Attention's GPU implementations, each in a file of its own.
namespace headroom::engine::cuda {

/// f32 heads at most so wide, of q and of v, are served by the narrow kernels: a query's row stays in one thread.
inline constexpr int64_t narrow_width = 16;
void attention_narrow(AttentionCall& call);
void attention_narrow_grad(AttentionGradCall& call);

/// f32, f64 and bf16, heads of any width, in tiles of 64 queries and 64 keys; arithmetic in f32, of f64 in f64.
void attention_wide(AttentionCall& call);
void attention_wide_grad(AttentionGradCall& call);

/// bf16 on tensor cores, heads at most so wide; sums and softmax in f32.
inline constexpr int64_t tensor_core_width = 128;
void attention_tensor_core(AttentionCall& call);
void attention_tensor_core_grad(AttentionGradCall& call);

/// f32, f64 and bf16, few queries against many keys without dropout: chunks of keys in parallel, joined in order.
inline constexpr int64_t most_few_queries = 16, most_split_width = 512;
void attention_split(AttentionCall& call);
/// The same where only the device knows how many keys there are.
void attention_split_cached(CachedAttentionCall& call);

}  // namespace headroom::engine::cuda
