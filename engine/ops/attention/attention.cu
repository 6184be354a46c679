#include <algorithm>

#include "engine/cuda/table.h"
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

/// Queries that fit into a block's shared memory.
bool are_few(const AttentionProblem& p) { return p.queries <= most_few_queries && p.qk_dim <= most_split_width; }

/// Decoding: self-attention over a whole sequence never is, so that a model is trained by one kernel whatever its
/// length.
bool is_split(const AttentionCall& c) {
  return are_few(c.problem) && c.problem.keys > c.problem.queries && c.problem.dropout == 0;
}
bool is_split_cached(const CachedAttentionCall& c) { return are_few(c.problem); }
bool is_split_packed(const PackedAttentionCall& c) {
  return are_few(c.problem) && (c.length.defined() || c.problem.keys > c.problem.queries);
}
bool has_no_length(const PackedAttentionCall& c) { return !c.length.defined(); }

}  // namespace

void register_attention() {
  const DTypeSet all = DType::f32 | DType::f64 | DType::bf16;
  add_strided_kernel(attention_op, "split over keys", all, attention_split, is_split);
  add_strided_kernel(attention_op, "tensor cores", DType::bf16, attention_tensor_core, fits_tensor_cores);
  add_strided_kernel(attention_op, "narrow", DType::f32, attention_narrow, is_narrow);
  add_strided_kernel(attention_op, "tiles", all, run_tiles);
  add_strided_kernel(attention_grad_op, "tensor cores", DType::bf16, attention_tensor_core_grad,
                     fits_tensor_cores_grad);
  add_strided_kernel(attention_grad_op, "narrow", DType::f32, attention_narrow_grad, is_narrow_grad);
  add_strided_kernel(attention_grad_op, "tiles", all, run_tiles_grad);
  add_strided_kernel(cached_attention_op, "split over keys", all, attention_split_cached, is_split_cached);
  add_strided_kernel(packed_attention_op, "split over keys", DType::f32, attention_split_packed, is_split_packed);
  add_strided_kernel(packed_attention_op, "unpacked", DType::f32, packed_attention_unpacked, has_no_length);
}

}  // namespace headroom::engine::cuda
