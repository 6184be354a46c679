#include "engine/ops/pow/pow.h"

#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/operators.h"
#include "engine/ops/pow/pow_functor.h"

namespace headroom::engine {

// No SIMD rows: e^(b · ln a) in f32 loses up to seven bits where b · ln a is large, and the C library's powf computes
// in f64 within one ulp.
BinaryOp pow_op{"pow", binary_loop_rows<Pow>()};
BinaryGradOp pow_grad_op{"pow_grad", binary_grad_loop_rows<Pow>()};

Tensor pow(const Tensor& a, const Tensor& b) { return binary(pow_op, a, b); }

Tensor pow(const Tensor& a, double exponent) {
  BinaryCall call{a, a};
  pow_op.check(call);
  if (exponent == 1) return a;
  if (exponent == 2) return a * a;
  if (exponent == 3) return a * a * a;
  if (exponent == -1) return 1 / a;
  if (exponent == 0.5) return sqrt(a);
  return pow(a, scalar_like("pow", exponent, a));
}

Tensor pow_grad_a(const Tensor& dy, const Tensor& a, const Tensor& b) {
  return binary_grad(pow_grad_op, dy, a, b, false);
}
Tensor pow_grad_b(const Tensor& dy, const Tensor& a, const Tensor& b) {
  return binary_grad(pow_grad_op, dy, a, b, true);
}

Tensor pow_grad(const Tensor& dy, const Tensor& a, double exponent) {
  if (exponent == 1) return dy;
  if (exponent == 2) return dy * (a * 2);
  if (exponent == 3) return dy * (a * a * 3);
  return pow_grad_a(dy, a, scalar_like("pow_grad", exponent, a));
}

}  // namespace headroom::engine
