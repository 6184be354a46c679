#include "engine/ops/attention/cached_attention.h"

#include "engine/error.h"

namespace headroom::engine {
namespace {

/// attention() of the keys that are there.
void attend_on_host(CachedAttentionCall& c) {
  const int64_t held = std::clamp<int64_t>(*c.length.data<int64_t>(), 0, c.k.dim(1));
  c.out = attention(c.q, c.k.slice(1, 0, held), c.v.slice(1, 0, held), c.slopes,
                    {.causal = true, .scale = c.problem.scale, .window = c.problem.window});
}

}  // namespace

Op<CachedAttentionCall> cached_attention_op{"cached_attention",
                                            {{.name = "attention",
                                              .dtypes = DType::f32 | DType::f64,
                                              .run = attend_on_host,
                                              .is_reference = true,
                                              .takes_strided = true}}};

Tensor cached_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes, double scale,
                        const Tensor& length, int64_t window) {
  CachedAttentionCall call{q, k, v, slopes, length};
  cached_attention_op.check(call);
  const AttentionProblem& p = call.problem =
      attention_problem(q, k, v, slopes, {.causal = true, .scale = scale, .window = window});
  require(length.numel() == 1, "cached_attention: {} is not one length", length);
  call.out.y = Tensor::empty({p.batch, p.queries, p.heads, p.v_dim}, q.dtype(), q.device());  // (B, Tq, H, d_v)
  call.out.lse = Tensor::empty({p.batch, p.heads, p.queries}, statistic_dtype(q.dtype()), q.device());  // (B, H, Tq)
  if (call.out.y.numel() > 0) cached_attention_op.run(call);
  return call.out.y;
}

}  // namespace headroom::engine
