#include "engine/ops/elementwise/unary.h"

#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"
#include "engine/ops/elementwise/unary_kernel.h"

namespace headroom::engine {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                  \
  UnaryOp NAME##_op{{#NAME, unary_rows<FUNCTOR, kernel::NAME##_forward>(), exponentials_of<FUNCTOR>()}, \
                    {#NAME "_grad", unary_grad_rows<FUNCTOR, kernel::NAME##_backward>(),                \
                     FUNCTOR::reads_x ? exponentials_of<FUNCTOR>() : 0}};                               \
  Tensor NAME(const Tensor& x) { return unary(NAME##_op, x); }                                          \
  Tensor NAME##_grad(const Tensor& dy, const Tensor& x, const Tensor& y) {                              \
    return unary_grad(NAME##_op, dy, FUNCTOR::reads_x ? x : Tensor(), FUNCTOR::reads_y ? y : Tensor()); \
  }
HEADROOM_UNARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine
