#include "engine/ops/scale/scale.h"

#include "engine/elementwise/binary.h"
#include "engine/ops/elementwise/arithmetic.h"
#include "engine/ops/elementwise/binary_kernel.h"

namespace headroom::engine {
namespace {

/// The product's loops with the factor as an operand of one element.
template <class T>
void run(ScaleCall& c, detail::BinaryLoop<T> loop) {
  BinaryCall call{c.x, Tensor::full({}, c.factor, c.x.dtype()), c.y};
  detail::run_binary<T>(call, loop);
}

template <class T>
Implementation<ScaleCall> loops() {
  return {.name = "loops",
          .dtypes = dtype_of<T>(),
          .run = [](ScaleCall& c) { run<T>(c, binary_forward_loop<Mul, T>); },
          .is_reference = true};
}

}  // namespace

Op<ScaleCall> scale_op{"scale",
                       {{.name = "simd",
                         .dtypes = DType::f32,
                         .run = [](ScaleCall& c) { run<float>(c, kernel::mul_forward.best()); },
                         .levels = kernel::mul_forward.levels()},
                        {.name = "simd",
                         .dtypes = DType::bf16,
                         .run =
                             [](ScaleCall& c) {
                               BinaryCall call{c.x, Tensor::full({}, c.factor, DType::bf16), c.y};
                               detail::run_binary_widened(call, kernel::mul_forward.best());
                             },
                         .levels = kernel::mul_forward.levels()},
                        loops<float>(),
                        loops<double>(),
                        loops<bf16>(),
                        loops<f16>()}};

Tensor scale(const Tensor& x, double factor) {
  ScaleCall call{x, factor};
  scale_op.check(call);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (call.y.numel() > 0) scale_op.run(call);
  return call.y;
}

}  // namespace headroom::engine
