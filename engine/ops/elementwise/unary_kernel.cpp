// Compiled once per instruction set: the SIMD loops of every elementwise op of one operand.
#include "engine/ops/elementwise/unary_kernel.h"
#include "engine/elementwise/kernels.h"
#include "engine/ops/elementwise/activations.h"
#include "engine/ops/elementwise/math_functions.h"

namespace headroom::engine::HEADROOM_ISA {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                               \
  void NAME##_forward(const float* x, float* y, int64_t n) { unary_forward_simd<FUNCTOR>(x, y, n); } \
  void NAME##_backward(const float* dy, const float* x, const float* y, float* dx, int64_t n) {      \
    unary_grad_simd<FUNCTOR>(dy, x, y, dx, n);                                                       \
  }
HEADROOM_UNARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine::HEADROOM_ISA
