#include <algorithm>

#include "engine/ops/attention/attention_cuda.h"

namespace headroom::engine::cuda {
namespace {

/// Kernels for so wide heads, which know no window: "split over keys" and "tiles" take those calls.
bool fits(const AttentionProblem& p, int64_t width) { return std::max(p.qk_dim, p.v_dim) <= width && p.window == 0; }

bool is_narrow(const AttentionCall& c) { return fits(c.problem, narrow_width); }
bool is_narrow_grad(const AttentionGradCall& c) { return fits(c.problem, narrow_width); }

bool fits_tensor_cores(const AttentionCall& c) { return fits(c.problem, tensor_core_width); }
bool fits_tensor_cores_grad(const AttentionGradCall& c) { return fits(c.problem, tensor_core_width); }

/// Tiles of 128 queries where they fit, else of 64.
void run_tiles(AttentionCall& c) {
  const bool is_blocks = c.q.dtype() == DType::f32 && !c.slopes.defined() && fits_blocks(c.problem);
  (is_blocks ? attention_block : attention_wide)(c);
}

void run_tiles_grad(AttentionGradCall& c) {
  const bool is_stored = c.q.dtype() == DType::f32 && !c.slopes.defined() && stored_share(c.problem).heads > 0;
  (is_stored ? attention_stored_grad : attention_wide_grad)(c);
}

/// Decoding: self-attention over a whole sequence never is, so that a model is trained by one kernel whatever its
/// length. Queries must fit into a block's shared memory.
bool is_split(const AttentionCall& c) {
  const AttentionProblem& p = c.problem;
  return p.queries <= most_few_queries && p.keys > p.queries && p.dropout == 0 && p.qk_dim <= most_split_width;
}

bool has_few_queries(const CachedAttentionCall& c) {
  return c.problem.queries <= most_few_queries && c.problem.qk_dim <= most_split_width;
}

}  // namespace

void register_attention() {
  constexpr Device::Kind cuda = Device::Kind::cuda;
  const DTypeSet all = DType::f32 | DType::f64 | DType::bf16;
  attention_op.add({.name = "split over keys",
                    .dtypes = all,
                    .run = attention_split,
                    .takes_strided = true,
                    .supports = is_split,
                    .device = cuda});
  attention_op.add({.name = "tensor cores",
                    .dtypes = DType::bf16,
                    .run = attention_tensor_core,
                    .takes_strided = true,
                    .supports = fits_tensor_cores,
                    .device = cuda});
  attention_op.add({.name = "narrow",
                    .dtypes = DType::f32,
                    .run = attention_narrow,
                    .takes_strided = true,
                    .supports = is_narrow,
                    .device = cuda});
  attention_op.add({.name = "tiles", .dtypes = all, .run = run_tiles, .takes_strided = true, .device = cuda});
  attention_grad_op.add({.name = "tensor cores",
                         .dtypes = DType::bf16,
                         .run = attention_tensor_core_grad,
                         .takes_strided = true,
                         .supports = fits_tensor_cores_grad,
                         .device = cuda});
  attention_grad_op.add({.name = "narrow",
                         .dtypes = DType::f32,
                         .run = attention_narrow_grad,
                         .takes_strided = true,
                         .supports = is_narrow_grad,
                         .device = cuda});
  attention_grad_op.add({.name = "tiles", .dtypes = all, .run = run_tiles_grad, .takes_strided = true, .device = cuda});
  cached_attention_op.add({.name = "split over keys",
                           .dtypes = all,
                           .run = attention_split_cached,
                           .takes_strided = true,
                           .supports = has_few_queries,
                           .device = cuda});
}

}  // namespace headroom::engine::cuda
