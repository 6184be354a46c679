#pragma once
#include "engine/elementwise/binary.h"
#include "engine/ops/elementwise/binary_list.h"

namespace headroom::engine {

/// NAME(a, b): shapes broadcast as in NumPy; f32 and f64, and bf16 and f16 computed in f32. Throws Error naming the op
/// and both shapes if they do not fit.
#define HEADROOM_DECLARE(NAME, FUNCTOR) \
  extern BinaryOp NAME##_op;            \
  Tensor NAME(const Tensor& a, const Tensor& b);
HEADROOM_BINARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

/// NAME_grad_a(dy, a, b): dy · dNAME/da, of dy's shape; NAME_grad_b: dy · dNAME/db.
#define HEADROOM_DECLARE(NAME, FUNCTOR)                                     \
  extern BinaryGradOp NAME##_grad_op;                                       \
  Tensor NAME##_grad_a(const Tensor& dy, const Tensor& a, const Tensor& b); \
  Tensor NAME##_grad_b(const Tensor& dy, const Tensor& a, const Tensor& b);
HEADROOM_SLOPED_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

/// y += x, same shape and dtype, y contiguous. For gradient accumulation.
void add_inplace(const Tensor& y, const Tensor& x);

}  // namespace headroom::engine
