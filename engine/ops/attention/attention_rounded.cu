#include "engine/context.h"
#include "engine/cuda/table.h"
#include "engine/ops/attention/attention_problem.h"

// f32 attention whose operands are rounded to bf16 anyway (PrecisionScope): on tensor cores, with sums and softmax in
// f32.
namespace headroom::engine::cuda {
namespace {

/// Slopes stay f32: a bias of a thousand positions would lose its last digits.
template <class Call>
bool is_rounded(const Call& c) {
  return context().precision == Precision::bf16 && !c.slopes.defined();
}

Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), DType::bf16, x.device()); }

void forward(AttentionCall& c) {
  AttentionCall narrow{c.q.to(DType::bf16), c.k.to(DType::bf16), c.v.to(DType::bf16), {}, c.key_mask, c.problem};
  narrow.out = {like(c.out.y), c.out.lse};
  attention_op.run(narrow);
  c.out.y = narrow.out.y.to(DType::f32);
}

void backward(AttentionGradCall& c) {
  AttentionGradCall narrow{c.dy.to(DType::bf16),
                           c.q.to(DType::bf16),
                           c.k.to(DType::bf16),
                           c.v.to(DType::bf16),
                           {},
                           c.key_mask,
                           {c.forward.y.to(DType::bf16), c.forward.lse}};
  narrow.problem = c.problem;
  narrow.dq = like(c.dq);
  narrow.dk = like(c.dk);
  narrow.dv = like(c.dv);
  attention_grad_op.run(narrow);
  c.dq = narrow.dq.to(DType::f32);
  c.dk = narrow.dk.to(DType::f32);
  c.dv = narrow.dv.to(DType::f32);
}

}  // namespace

/// To be called before attention's own kernels join the table.
void register_attention_rounded() {
  add_strided_kernel(attention_op, "in bf16", DType::f32, forward, is_rounded<AttentionCall>);
  add_kernel(attention_grad_op, "in bf16", DType::f32, backward, is_rounded<AttentionGradCall>);
}

}  // namespace headroom::engine::cuda
