#include "engine/ops/attention/attention.h"

#include "engine/error.h"
#include "engine/ops/attention/attention_bf16_kernel.h"
#include "engine/ops/attention/attention_fast.h"
#include "engine/ops/attention/attention_kernel.h"
#include "engine/ops/attention/attention_lanes_kernel.h"
#include "engine/ops/attention/attention_reference.h"
#include "engine/ops/sum/sum.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
void forward_loops(AttentionCall& c) {
  const AttentionProblem& p = c.problem;
  const AttentionReference<T> reference(p, c.q, c.k, c.v, c.slopes);
  parallel_for(p.batch * p.heads, [&](int64_t task) {
    reference.forward(task / p.heads, task % p.heads, c.out.y.mutable_data<T>(), c.out.lse.mutable_data<T>());
  });
}

template <class T>
void grad_loops(AttentionGradCall& c) {
  const AttentionProblem& p = c.problem;
  const AttentionReference<T> reference(p, c.q, c.k, c.v, c.slopes);
  T *dq = c.dq.mutable_data<T>(), *dk = c.dk.mutable_data<T>(), *dv = c.dv.mutable_data<T>();
  std::fill_n(dk, c.dk.numel(), T(0));
  std::fill_n(dv, c.dv.numel(), T(0));
  // One task per key-value head: the heads that share it add to the same rows of dk and dv, in order.
  parallel_for(p.batch * p.kv_heads, [&](int64_t task) {
    const int64_t b = task / p.kv_heads, first = task % p.kv_heads * p.group();
    for (int64_t h = first; h < first + p.group(); ++h) {
      const T dslope = reference.grad(b, h, c.dy.data<T>(), c.forward.y.data<T>(), c.forward.lse.data<T>(), dq, dk, dv);
      if (c.dslopes.defined()) c.dslopes.mutable_data<T>()[b * p.heads + h] = dslope;
    }
  });
}

/// For implementations that write whole tensors: they make their own where a place is strided.
template <void (*run)(AttentionGradCall&)>
void whole_results(AttentionGradCall& c) {
  for (Tensor* result : {&c.dq, &c.dk, &c.dv})
    if (!result->is_contiguous()) *result = Tensor::empty(result->shape(), result->dtype());
  run(c);
}

}  // namespace

Op<AttentionCall> attention_op{
    "attention",
    {{.name = "few queries",
      .dtypes = DType::f32,
      .run = attention_few,
      .levels = kernel::attention_chunk_part.levels(),
      .takes_strided = true,
      .supports = [](const AttentionCall& call) { return few_queries(call.problem); }},
     {.name = "lanes",
      .dtypes = DType::f32,
      .run = attention_by_lanes,
      .levels = kernel::attention_lanes_forward.levels(),
      .takes_strided = true,
      .supports = [](const AttentionCall& call) { return fills_lanes(call.problem); }},
     {.name = "tiles",
      .dtypes = DType::f32,
      .run = attention_tiled,
      .levels = kernel::attention_forward.levels(),
      .takes_strided = true},
     {.name = "pairs",
      .dtypes = DType::bf16,
      .run = attention_pairs,
      .levels = kernel::attention_bf16_forward.levels(),
      .takes_strided = true,
      .supports = takes_pairs},
     {.name = "tiles",
      .dtypes = DType::bf16,
      .run = attention_widened,
      .levels = kernel::attention_forward.levels(),
      .takes_strided = true},
     {.name = "loops", .dtypes = DType::f32, .run = forward_loops<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = forward_loops<double>, .is_reference = true}}};

Op<AttentionGradCall> attention_grad_op{
    "attention_grad",
    {{.name = "lanes",
      .dtypes = DType::f32,
      .run = whole_results<attention_grad_by_lanes>,
      .levels = kernel::attention_lanes_backward.levels(),
      .supports = [](const AttentionGradCall& call) { return fills_lanes(call.problem); }},
     {.name = "tiles",
      .dtypes = DType::f32,
      .run = whole_results<attention_grad_tiled>,
      .levels = kernel::attention_backward.levels()},
     {.name = "pairs",
      .dtypes = DType::bf16,
      .run = whole_results<attention_grad_pairs>,
      .levels = kernel::attention_bf16_backward.levels(),
      .supports = takes_pairs_grad},
     {.name = "tiles",
      .dtypes = DType::bf16,
      .run = whole_results<attention_grad_widened>,
      .levels = kernel::attention_backward.levels()},
     {.name = "loops", .dtypes = DType::f32, .run = whole_results<grad_loops<float>>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = whole_results<grad_loops<double>>, .is_reference = true}}};

Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                    const AttentionOptions& options) {
  AttentionCall call{q, k, v, slopes, options.key_mask};
  attention_op.check(call);
  const AttentionProblem& p = call.problem = attention_problem(q, k, v, slopes, options);
  call.out.y = Tensor::empty({p.batch, p.queries, p.heads, p.v_dim}, q.dtype(), q.device());  // (B, Tq, H, d_v)
  const DType lse_dtype = statistic_dtype(q.dtype());
  call.out.lse = Tensor::empty({p.batch, p.heads, p.queries}, lse_dtype, q.device());  // (B, H, Tq)
  if (call.out.y.numel() > 0) attention_op.run(call);
  return call.out;
}

AttentionGrad attention_grad(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& slopes,
                             const Attention& forward, const AttentionOptions& options, const AttentionGrad& places) {
  AttentionGradCall call{dy, q, k, v, slopes, options.key_mask, forward};
  attention_grad_op.check(call);
  const AttentionProblem& p = call.problem = attention_problem(q, k, v, slopes, options);
  const Shape y_shape{p.batch, p.queries, p.heads, p.v_dim}, lse_shape{p.batch, p.heads, p.queries};
  if (dy.shape() != y_shape || forward.y.shape() != y_shape || forward.lse.shape() != lse_shape)
    fail("attention_grad: dy {}, y {} and lse {} are not {}, {} and {}", dy.shape().str(), forward.y.shape().str(),
         forward.lse.shape().str(), y_shape.str(), y_shape.str(), lse_shape.str());
  const auto result = [](const Tensor& place, const Tensor& like) {
    require(!place.defined() || place.shape() == like.shape(), "attention_grad: the place {} does not fit {}", place,
            like);
    const bool takes = place.defined() && place.dtype() == like.dtype();
    return takes ? place : Tensor::empty(like.shape(), like.dtype(), like.device());
  };
  call.dq = result(places.dq, q);  // (B, Tq, H, d_qk)
  call.dk = result(places.dk, k);  // (B, Tk, H_kv, d_qk)
  call.dv = result(places.dv, v);  // (B, Tk, H_kv, d_v)
  if (slopes.defined())
    call.dslopes = Tensor::empty({p.batch, p.heads}, statistic_dtype(q.dtype()), q.device());  // (B, H)
  attention_grad_op.run(call);
  return {call.dq, call.dk, call.dv, slopes.defined() ? sum(call.dslopes, {0}, false).to(q.dtype()) : Tensor()};
}

}  // namespace headroom::engine
