#include "engine/ops/attention/packed_attention.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/ops/attention/attention_fast.h"
#include "engine/ops/attention/attention_kernel.h"

namespace headroom::engine {
namespace {

AttentionOptions options_of(const PackedAttentionCall& c) {
  return {.causal = c.problem.causal, .scale = c.problem.scale, .key_mask = c.key_mask, .window = c.problem.window};
}

bool has_few_queries(const PackedAttentionCall& c) { return few_queries(c.problem); }

/// The first `length` rows.
PackedRows held(const PackedRows& rows, int64_t length) {
  return {rows.bytes.slice(1, 0, std::clamp<int64_t>(length, 0, rows.bytes.dim(1))), rows.format, rows.dim};
}

}  // namespace

void packed_attention_unpacked(PackedAttentionCall& c) {
  c.out = attention(c.q, unpack_rows(c.k), unpack_rows(c.v), c.slopes, options_of(c));
}

Op<PackedAttentionCall> packed_attention_op{"packed_attention",
                                            {{.name = "few queries",
                                              .dtypes = DType::f32,
                                              .run = packed_attention_few,
                                              .levels = kernel::attention_chunk_part.levels(),
                                              .takes_strided = true,
                                              .supports = has_few_queries},
                                             {.name = "unpacked",
                                              .dtypes = DType::f32,
                                              .run = packed_attention_unpacked,
                                              .is_reference = true,
                                              .takes_strided = true}}};

Tensor packed_attention(const Tensor& q, const PackedRows& k, const PackedRows& v, const Tensor& slopes,
                        const AttentionOptions& options, const Tensor& length) {
  PackedAttentionCall call{q, k, v, slopes, options.key_mask, length};
  packed_attention_op.check(call);
  if (length.defined() && length.device().is_cpu()) {
    const int64_t tokens = *length.data<int64_t>();
    return packed_attention(q, held(k, tokens), held(v, tokens), slopes, options);
  }
  require(options.dropout == 0, "packed_attention: a dropout of {}: it has none", options.dropout);
  // The problem is that of rows of numbers: views of one number show their shapes.
  const auto shown = [](const PackedRows& rows) {
    return Tensor::zeros({1}).expand(rows.bytes.shape().with(rows.bytes.rank() - 1, rows.dim));
  };
  const AttentionProblem& p = call.problem = attention_problem(q, shown(k), shown(v), slopes, options);
  call.out.y = Tensor::empty({p.batch, p.queries, p.heads, p.v_dim}, DType::f32, q.device());  // (B, Tq, H, d_v)
  call.out.lse = Tensor::empty({p.batch, p.heads, p.queries}, DType::f32, q.device());         // (B, H, Tq)
  if (call.out.y.numel() > 0) packed_attention_op.run(call);
  return call.out.y;
}

}  // namespace headroom::engine
