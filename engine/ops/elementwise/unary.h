#pragma once
#include "engine/elementwise/unary.h"
#include "engine/ops/elementwise/unary_list.h"

namespace headroom::engine {

/// NAME(x): y = f(x), any shape; f32 and f64, and bf16 and f16 computed in f32. NAME_grad(dy, x, y): dx = dy · f'(x); x
/// and y may be undefined unless the functor's `reads_x` and `reads_y` say otherwise.
#define HEADROOM_DECLARE(NAME, FUNCTOR) \
  extern UnaryOp NAME##_op;             \
  Tensor NAME(const Tensor& x);         \
  Tensor NAME##_grad(const Tensor& dy, const Tensor& x, const Tensor& y);
HEADROOM_UNARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::engine
