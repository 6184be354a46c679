// Compiled once per instruction set: the built-in silu under another name.
#include "tests/models/op_library/own_silu_kernel.h"

#include "engine/elementwise/kernels.h"
#include "engine/ops/elementwise/activations.h"

namespace headroom::engine::HEADROOM_ISA {

void own_silu_forward(const float* x, float* y, int64_t n) { unary_forward_simd<Silu>(x, y, n); }
void own_silu_backward(const float* dy, const float* x, const float* y, float* dx, int64_t n) {
  unary_grad_simd<Silu>(dy, x, y, dx, n);
}

}  // namespace headroom::engine::HEADROOM_ISA
