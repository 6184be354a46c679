#pragma once
#include "autograd/var.h"
#include "engine/ops/elementwise/unary_list.h"

namespace headroom::autograd {

/// Elementwise functions of one operand, any shape; engine/ops/elementwise defines them.
#define HEADROOM_DECLARE(NAME, FUNCTOR) Var NAME(const Var& x);
HEADROOM_UNARY_OPS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::autograd
