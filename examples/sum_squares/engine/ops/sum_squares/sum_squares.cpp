#include "engine/ops/sum_squares/sum_squares.h"

#include "engine/ops/rows/rows.h"
#include "engine/ops/sum_squares/sum_squares_functor.h"
#include "engine/ops/sum_squares/sum_squares_kernel.h"

namespace headroom::engine {
namespace {

// The reference loops, which define the op.
template <class T>
void sum_loop(const T* x, T* y, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, x += n, ++y) {
    *y = 0;
    for (int64_t i = 0; i < n; ++i) *y += SumSquares::f(x[i]);
  }
}
template <class T>
void sum_grad_loop(const T* dy, const T* x, T* dx, int64_t rows, int64_t n) {
  for (; rows > 0; --rows, ++dy, x += n, dx += n)
    for (int64_t i = 0; i < n; ++i) dx[i] = *dy * SumSquares::df(x[i]);
}

/// Spreads rows over threads, cut by the shape alone.
template <class T>
void run(SumSquaresCall& c, void (*loop)(const T*, T*, int64_t, int64_t)) {
  const Rows rows = rows_of("sum_squares", c.x);
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    loop(x + begin * rows.width, y + begin, end - begin, rows.width);
  });
}
template <class T>
void run_grad(SumSquaresGradCall& c, void (*loop)(const T*, const T*, T*, int64_t, int64_t)) {
  const Rows rows = rows_of("sum_squares_grad", c.x);
  const T *dy = c.dy.data<T>(), *x = c.x.data<T>();
  T* dx = c.dx.mutable_data<T>();
  parallel_ranges(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
    loop(dy + begin, x + begin * rows.width, dx + begin * rows.width, end - begin, rows.width);
  });
}

}  // namespace

// The tables: the SIMD kernel in f32, the reference loops in f32 and f64.
Op<SumSquaresCall> sum_squares_op{
    "sum_squares",
    kernel_and_loops<SumSquaresCall>(
        kernel::sum_squares_forward.levels(),
        [](SumSquaresCall& c) { run<float>(c, kernel::sum_squares_forward.best()); },
        [](SumSquaresCall& c) { run<float>(c, sum_loop); }, [](SumSquaresCall& c) { run<double>(c, sum_loop); })};
Op<SumSquaresGradCall> sum_squares_grad_op{
    "sum_squares_grad", kernel_and_loops<SumSquaresGradCall>(
                            kernel::sum_squares_backward.levels(),
                            [](SumSquaresGradCall& c) { run_grad<float>(c, kernel::sum_squares_backward.best()); },
                            [](SumSquaresGradCall& c) { run_grad<float>(c, sum_grad_loop); },
                            [](SumSquaresGradCall& c) { run_grad<double>(c, sum_grad_loop); })};

Tensor sum_squares(const Tensor& x) {
  SumSquaresCall call{x};
  sum_squares_op.check(call);
  rows_of("sum_squares", x);
  call.y = Tensor::empty(x.shape().without(-1), x.dtype(), x.device());  // (…)
  if (call.y.numel() > 0) sum_squares_op.run(call);
  return call.y;
}

Tensor sum_squares_grad(const Tensor& dy, const Tensor& x) {
  SumSquaresGradCall call{dy, x};
  sum_squares_grad_op.check(call);
  require(x.rank() > 0 && dy.shape() == x.shape().without(-1), "sum_squares_grad: dy {}, x {}", dy.shape(), x.shape());
  call.dx = Tensor::empty(x.shape(), x.dtype(), x.device());  // (…, n)
  if (call.dx.numel() > 0) sum_squares_grad_op.run(call);
  return call.dx;
}

}  // namespace headroom::engine
