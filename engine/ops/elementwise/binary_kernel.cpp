// Compiled once per instruction set: the SIMD loops of every elementwise op of two operands.
#include "engine/ops/elementwise/binary_kernel.h"

#include "engine/elementwise/kernels.h"
#include "engine/ops/elementwise/arithmetic.h"

namespace headroom::engine::HEADROOM_ISA {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                           \
  void NAME##_forward(const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y, int64_t n) { \
    binary_forward_simd<FUNCTOR>(a, stride_a, b, stride_b, y, n);                                                \
  }
HEADROOM_BINARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE
#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                        \
  void NAME##_backward_a(const float* dy, const float* a, int64_t stride_a, const float* b, int64_t stride_b, \
                         float* da, int64_t n) {                                                              \
    binary_grad_simd<SlopeA<FUNCTOR>>(dy, a, stride_a, b, stride_b, da, n);                                   \
  }                                                                                                           \
  void NAME##_backward_b(const float* dy, const float* a, int64_t stride_a, const float* b, int64_t stride_b, \
                         float* db, int64_t n) {                                                              \
    binary_grad_simd<SlopeB<FUNCTOR>>(dy, a, stride_a, b, stride_b, db, n);                                   \
  }
HEADROOM_SLOPED_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine::HEADROOM_ISA
