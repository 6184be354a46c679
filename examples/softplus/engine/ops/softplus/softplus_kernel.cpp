// Compiled once per instruction set: includes nothing but kernel headers.
#include "engine/ops/softplus/softplus_kernel.h"

#include "engine/elementwise/kernels.h"
#include "engine/ops/softplus/softplus_functor.h"

namespace headroom::engine::HEADROOM_ISA {

void softplus_forward(const float* x, float* y, int64_t n) { unary_forward_simd<Softplus>(x, y, n); }
void softplus_backward(const float* dy, const float* x, const float* y, float* dx, int64_t n) {
  unary_grad_simd<Softplus>(dy, x, y, dx, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
