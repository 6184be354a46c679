#include "engine/ops/elementwise/comparison.h"

#include "engine/elementwise/binary_walk.h"
#include "engine/ops/elementwise/comparison_kernel.h"
#include "engine/ops/elementwise/comparisons.h"
#include "engine/ops/operators.h"

namespace headroom::engine {
namespace {

template <class T>
using Loop = void (*)(const T* a, int64_t stride_a, const T* b, int64_t stride_b, bool* y, int64_t n);

template <class F, class T>
void comparison_loop(const T* a, int64_t stride_a, const T* b, int64_t stride_b, bool* y, int64_t n) {
  using C = Compute<T>;
  for (int64_t i = 0; i < n; ++i) y[i] = F::f(static_cast<C>(a[i * stride_a]), static_cast<C>(b[i * stride_b]));
}

template <class T>
void run_comparison(BinaryCall& call, Loop<T> loop) {
  const T *a = call.a.data<T>(), *b = call.b.data<T>();
  bool* y = call.y.mutable_data<bool>();
  detail::walk_binary(call.y.shape(), call.a, call.b,
                      [&](int64_t ia, int64_t stride_a, int64_t ib, int64_t stride_b, int64_t i, int64_t n) {
                        loop(a + ia, stride_a, b + ib, stride_b, y + i, n);
                      });
}

template <class F>
void run_comparison_loops(BinaryCall& call) {
  visit_dtype(call.a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    run_comparison<T>(call, comparison_loop<F, T>);
  });
}

template <class F, const auto& kernel>
BinaryOp::Rows comparison_rows() {
  return {{.name = "simd",
           .dtypes = DType::f32,
           .run = [](BinaryCall& call) { run_comparison<float>(call, kernel.best()); },
           .levels = kernel.levels()},
          {.name = "loops", .dtypes = every_dtype, .run = run_comparison_loops<F>, .is_reference = true}};
}

Tensor compare(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  BinaryCall call{a, b};
  op.check(call);
  call.y = Tensor::empty(broadcast(op.name(), a.shape(), b.shape()), DType::boolean, a.device());
  if (call.y.numel() > 0) op.run(call);
  return call.y;
}

}  // namespace

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                               \
  BinaryOp NAME##_op{#NAME, comparison_rows<FUNCTOR, kernel::NAME##_run>()};         \
  Tensor NAME(const Tensor& a, const Tensor& b) { return compare(NAME##_op, a, b); } \
  Tensor NAME(const Tensor& a, double c) { return compare(NAME##_op, a, scalar_like(#NAME, c, a)); }
HEADROOM_COMPARISONS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

}  // namespace headroom::engine
