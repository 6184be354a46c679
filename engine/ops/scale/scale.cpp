#include "engine/ops/scale/scale.h"

#include "engine/elementwise/binary.h"
#include "engine/ops/elementwise/arithmetic.h"
#include "engine/ops/elementwise/binary_kernel.h"

namespace headroom::engine {
namespace {

/// The product with the factor as an operand of one element.
BinaryCall product_of(const ScaleCall& c) { return {c.x, Tensor::full({}, c.factor, c.x.dtype()), c.y}; }

void run_simd(ScaleCall& c) {
  BinaryCall call = product_of(c);
  detail::run_binary<float>(call, kernel::mul_forward.best());
}
void run_widened(ScaleCall& c) {
  BinaryCall call = product_of(c);
  detail::run_binary_widened(call, kernel::mul_forward.best());
}
template <class T>
void run_loops(ScaleCall& c) {
  BinaryCall call = product_of(c);
  detail::binary_loops<Mul, T>(call);
}

}  // namespace

Op<ScaleCall> scale_op{
    "scale", elementwise_rows(kernel::mul_forward.levels(), run_simd, run_widened,
                              elementwise_loops(run_loops<float>, run_loops<double>, run_loops<bf16>, run_loops<f16>))};

Tensor scale(const Tensor& x, double factor) {
  ScaleCall call{x, factor};
  scale_op.check(call);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (call.y.numel() > 0) scale_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
