#include "engine/ops/attention/attention.h"

#include "engine/backend.h"
#include "engine/ops/attention/attention_fast.h"
#include "engine/ops/attention/attention_reference.h"
#include "engine/ops/sum/sum.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

Attention attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in, const Tensor& slopes_in,
                    const AttentionOptions& options) {
  const AttentionProblem p = attention_problem(q_in, k_in, v_in, slopes_in, options);
  const Tensor slopes = slopes_in.defined() ? slopes_in.contiguous() : Tensor();
  Attention out{Tensor::empty({p.batch, p.queries, p.heads, p.v_dim}, q_in.dtype()),
                Tensor::empty({p.batch, p.heads, p.queries}, q_in.dtype())};
  if (out.y.numel() == 0) return out;
  if (use_fast(q_in)) {
    const Tensor q = head_rows(q_in), k = head_rows(k_in), v = head_rows(v_in);
    few_queries(p) ? attention_few(p, q, k, v, slopes, out) : attention_tiled(p, q, k, v, slopes, out);
    return out;
  }
  const Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
  visit_real("attention", q, [&](auto zero) {
    using T = decltype(zero);
    const AttentionReference<T> reference{p, q.data<T>(), k.data<T>(), v.data<T>(), data_or_null<T>(slopes)};
    parallel_for(p.batch * p.heads, [&](int64_t task) {
      reference.forward(task / p.heads, task % p.heads, out.y.mutable_data<T>(), out.lse.mutable_data<T>());
    });
  });
  return out;
}

AttentionGrad attention_grad(const Tensor& dy_in, const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                             const Tensor& slopes_in, const Attention& forward, const AttentionOptions& options) {
  const AttentionProblem p = attention_problem(q_in, k_in, v_in, slopes_in, options);
  const Tensor dy = dy_in.contiguous(), q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
  const Tensor slopes = slopes_in.defined() ? slopes_in.contiguous() : Tensor();
  AttentionGrad out{Tensor::empty(q.shape(), q.dtype()), Tensor::empty(k.shape(), q.dtype()),
                    Tensor::empty(v.shape(), q.dtype()), Tensor()};
  const Tensor dslopes = Tensor::empty({p.batch, p.heads}, q.dtype());
  if (use_fast(q)) {
    attention_grad_tiled(p, dy, q, k, v, slopes, forward, out, dslopes);
    if (slopes.defined()) out.dslopes = sum(dslopes, {0}, false);
    return out;
  }
  visit_real("attention", q, [&](auto zero) {
    using T = decltype(zero);
    const AttentionReference<T> reference{p, q.data<T>(), k.data<T>(), v.data<T>(), data_or_null<T>(slopes)};
    std::fill_n(out.dk.mutable_data<T>(), out.dk.numel(), T(0));
    std::fill_n(out.dv.mutable_data<T>(), out.dv.numel(), T(0));
    // One task per key-value head: the heads that share it add to the same rows of dk and dv, in order.
    parallel_for(p.batch * p.kv_heads, [&](int64_t task) {
      const int64_t b = task / p.kv_heads, first = task % p.kv_heads * p.group();
      for (int64_t h = first; h < first + p.group(); ++h)
        dslopes.mutable_data<T>()[b * p.heads + h] =
            reference.grad(b, h, dy.data<T>(), forward.y.data<T>(), forward.lse.data<T>(), out.dq.mutable_data<T>(),
                           out.dk.mutable_data<T>(), out.dv.mutable_data<T>());
    });
  });
  if (slopes.defined()) out.dslopes = sum(dslopes, {0}, false);
  return out;
}

}  // namespace headroom::engine
