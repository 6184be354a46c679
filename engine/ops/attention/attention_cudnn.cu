#include <cstdint>
#include <exception>

#include "engine/cuda/graph.h"
#include "engine/cuda/sdpa.h"
#include "engine/cuda/table.h"
#include "engine/ops/attention/attention_problem.h"
#include "engine/transfer.h"

namespace headroom::engine::cuda {
namespace {

/// True if the library can read (B, T, H, d) in place: rows without gaps, 16 bytes aligned.
bool lies_well(const Tensor& x) {
  if (x.strides()[3] != 1 || reinterpret_cast<uintptr_t>(x.raw()) % 16 != 0) return false;
  for (const int axis : {0, 1, 2})
    if (x.strides()[axis] % 8 != 0 || (x.strides()[axis] <= 0 && x.dim(axis) > 1)) return false;
  return true;
}

SdpaProblem::Strides strides_of(const Tensor& x) { return {x.strides()[0], x.strides()[1], x.strides()[2]}; }
SdpaProblem::Strides contiguous_strides(const Tensor& x) {
  return {x.dim(1) * x.dim(2) * x.dim(3), x.dim(2) * x.dim(3), x.dim(3)};
}

SdpaProblem::Strides place_of(const Tensor& x) { return lies_well(x) ? strides_of(x) : contiguous_strides(x); }

SdpaProblem problem_of(const AttentionProblem& p, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& slopes, const Tensor& key_mask) {
  return {.dtype = q.dtype(),
          .batch = p.batch,
          .queries = p.queries,
          .keys = p.keys,
          .heads = p.heads,
          .kv_heads = p.kv_heads,
          .qk_dim = p.qk_dim,
          .v_dim = p.v_dim,
          .causal = p.causal,
          .scale = p.scale,
          .has_slopes = slopes.defined(),
          .has_key_mask = key_mask.defined(),
          .has_dropout = p.dropout > 0,
          .q = place_of(q),
          .k = place_of(k),
          .v = place_of(v)};
}

SdpaProblem problem_of(const AttentionCall& c) { return problem_of(c.problem, c.q, c.k, c.v, c.slopes, c.key_mask); }
SdpaProblem problem_of(const AttentionGradCall& c) {
  SdpaProblem problem = problem_of(c.problem, c.q, c.k, c.v, c.slopes, c.key_mask);
  problem.dq = place_of(c.dq), problem.dk = place_of(c.dk), problem.dv = place_of(c.dv);
  return problem;
}

template <class Call>
constexpr SdpaPass pass_of = std::is_same_v<Call, AttentionCall> ? SdpaPass::forward : SdpaPass::backward;

template <class Call>
bool supports(const Call& c) {
  return c.problem.window == 0 && sdpa_answer(problem_of(c), pass_of<Call>).empty();
}

template <class Call>
void make_readable(Call& c) {
  for (Tensor* x : {&c.q, &c.k, &c.v})
    if (!lies_well(*x)) *x = x->contiguous();
}

/// Runs the library; where it fails, the rows behind this one, which then refuses the problem. A lost device is no
/// refusal, nor is what cannot be captured, where other kernels would have other bits than the steps before.
template <class Call, class F>
void run_or_give_up(const Op<Call>& op, Call& c, const F& library) {
  try {
    return library();
  } catch (const std::exception& error) {
    if (device_is_lost() || Capture::is_on()) throw;
    give_up_sdpa(problem_of(c), pass_of<Call>, error.what());
  }
  op.run(c);
}

void forward(AttentionCall& c) {
  make_readable(c);
  run_or_give_up(attention_op, c, [&] {
    sdpa_forward(problem_of(c),
                 {c.q.raw(), c.k.raw(), c.v.raw(), c.out.y.mutable_raw(), c.out.lse.mutable_data<float>()});
  });
}

void backward(AttentionGradCall& c) {
  make_readable(c);
  for (Tensor* x : {&c.dq, &c.dk, &c.dv})
    if (!lies_well(*x)) *x = Tensor::empty(x->shape(), x->dtype(), x->device());
  run_or_give_up(attention_grad_op, c, [&] {
    const Tensor dy = c.dy.contiguous(), y = c.forward.y.contiguous(), lse = c.forward.lse.contiguous();
    sdpa_backward(problem_of(c), {dy.raw(), c.q.raw(), c.k.raw(), c.v.raw(), y.raw(), lse.data<float>(),
                                  c.dq.mutable_raw(), c.dk.mutable_raw(), c.dv.mutable_raw()});
  });
}

}  // namespace

/// To be called before attention's own kernels join the table: what cuDNN takes, it takes first.
void register_attention_cudnn() {
  add_strided_kernel(attention_op, "cuDNN", DType::bf16 | DType::f16, forward, supports<AttentionCall>);
  add_strided_kernel(attention_grad_op, "cuDNN", DType::bf16 | DType::f16, backward, supports<AttentionGradCall>);
}

}  // namespace headroom::engine::cuda
