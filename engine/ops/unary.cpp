#include "engine/ops/unary.h"

#include "engine/elementwise/elementwise.h"
#include "engine/elementwise/reference.h"
#include "engine/ops/unary_functors.h"
#include "engine/ops/unary_kernel.h"

namespace headroom::engine {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                       \
  namespace {                                                                                                \
  constexpr UnaryKernels NAME##_kernels{#NAME,                                                               \
                                        kernel::NAME##_forward,                                              \
                                        kernel::NAME##_backward,                                             \
                                        unary_forward_loop<FUNCTOR, float>,                                  \
                                        unary_grad_loop<FUNCTOR, float>,                                     \
                                        unary_forward_loop<FUNCTOR, double>,                                 \
                                        unary_grad_loop<FUNCTOR, double>};                                   \
  }                                                                                                          \
  Tensor NAME(const Tensor& x) { return unary(NAME##_kernels, x); }                                          \
  Tensor NAME##_grad(const Tensor& dy, const Tensor& x, const Tensor& y) {                                   \
    return unary_grad(NAME##_kernels, dy, FUNCTOR::reads_x ? x : Tensor(), FUNCTOR::reads_y ? y : Tensor()); \
  }
HEADROOM_UNARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine
