#include "engine/ops/elementwise/binary.h"

#include "engine/error.h"
#include "engine/ops/elementwise/arithmetic.h"
#include "engine/ops/elementwise/binary_kernel.h"

namespace headroom::engine {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                       \
  BinaryOp NAME##_op{#NAME, binary_rows<FUNCTOR, kernel::NAME##_forward>()}; \
  Tensor NAME(const Tensor& a, const Tensor& b) { return binary(NAME##_op, a, b); }
HEADROOM_BINARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE
#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                            \
  BinaryGradOp NAME##_grad_op{#NAME "_grad",                                                                      \
                              binary_grad_rows<FUNCTOR, kernel::NAME##_backward_a, kernel::NAME##_backward_b>()}; \
  Tensor NAME##_grad_a(const Tensor& dy, const Tensor& a, const Tensor& b) {                                      \
    return binary_grad(NAME##_grad_op, dy, a, b, false);                                                          \
  }                                                                                                               \
  Tensor NAME##_grad_b(const Tensor& dy, const Tensor& a, const Tensor& b) {                                      \
    return binary_grad(NAME##_grad_op, dy, a, b, true);                                                           \
  }
HEADROOM_SLOPED_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

void add_inplace(const Tensor& y, const Tensor& x) {
  if (!y.defined() || y.shape() != x.shape() || y.dtype() != x.dtype() || !y.is_contiguous())
    fail("add_inplace: y {}, x {}", y.str(), x.str());
  BinaryCall call{y, apart_from(y, x), y};
  add_op.check(call);
  y.bump_version();
  if (y.numel() > 0) add_op.run(call);
}

}  // namespace headroom::engine
