#include "engine/ops/clamp/clamp.h"

#include "engine/elementwise/reference.h"
#include "engine/elementwise/rows.h"
#include "engine/error.h"
#include "engine/ops/clamp/clamp_functor.h"
#include "engine/ops/clamp/clamp_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
void clamp_loop(const T* x, Compute<T> low, Compute<T> high, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = T(Clamp::f(static_cast<Compute<T>>(x[i]), low, high));
}
template <class T>
void clamp_grad_loop(const T* dy, const T* x, Compute<T> low, Compute<T> high, T* dx, int64_t n) {
  using C = Compute<T>;
  for (int64_t i = 0; i < n; ++i) dx[i] = T(Clamp::df(static_cast<C>(dy[i]), static_cast<C>(x[i]), low, high));
}

/// A bound as x's dtype holds it, in what the loop computes in.
template <class T>
Compute<T> rounded(double bound) {
  return static_cast<Compute<T>>(T(static_cast<Compute<T>>(bound)));
}

template <class T>
void run(ClampCall& c, void (*loop)(const T* x, Compute<T> low, Compute<T> high, T* y, int64_t n)) {
  const T* x = c.x.data<T>();
  T* y = c.y.mutable_data<T>();
  const Compute<T> low = rounded<T>(c.low), high = rounded<T>(c.high);
  parallel_ranges(c.x.numel(), elementwise_grain,
                  [&](int64_t begin, int64_t end) { loop(x + begin, low, high, y + begin, end - begin); });
}

template <class T>
void run_grad(ClampGradCall& c,
              void (*loop)(const T* dy, const T* x, Compute<T> low, Compute<T> high, T* dx, int64_t n)) {
  const T *dy = c.dy.data<T>(), *x = c.x.data<T>();
  T* dx = c.dx.mutable_data<T>();
  const Compute<T> low = rounded<T>(c.low), high = rounded<T>(c.high);
  parallel_ranges(c.x.numel(), elementwise_grain,
                  [&](int64_t i, int64_t end) { loop(dy + i, x + i, low, high, dx + i, end - i); });
}

template <class T>
void run_loops(ClampCall& c) {
  run<T>(c, clamp_loop<T>);
}
template <class T>
void run_grad_loops(ClampGradCall& c) {
  run_grad<T>(c, clamp_grad_loop<T>);
}

void check_bounds(double low, double high) {
  require(low <= high, "clamp: the bounds {} and {} are no interval", low, high);  // false for NaN
}

}  // namespace

Op<ClampCall> clamp_op{
    "clamp", elementwise_rows<ClampCall>(
                 kernel::clamp_forward.levels(), [](ClampCall& c) { run<float>(c, kernel::clamp_forward.best()); },
                 nullptr, elementwise_loops(run_loops<float>, run_loops<double>, run_loops<bf16>, run_loops<f16>))};
Op<ClampGradCall> clamp_grad_op{
    "clamp_grad",
    elementwise_rows<ClampGradCall>(
        kernel::clamp_backward.levels(), [](ClampGradCall& c) { run_grad<float>(c, kernel::clamp_backward.best()); },
        nullptr,
        elementwise_loops(run_grad_loops<float>, run_grad_loops<double>, run_grad_loops<bf16>, run_grad_loops<f16>))};

Tensor clamp(const Tensor& x, double low, double high) {
  ClampCall call{x, low, high};
  clamp_op.check(call);
  check_bounds(low, high);
  call.y = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (call.y.numel() > 0) clamp_op.run(call);
  return call.y;
}

Tensor clamp_grad(const Tensor& dy, const Tensor& x, double low, double high) {
  ClampGradCall call{dy, x, low, high};
  clamp_grad_op.check(call);
  check_bounds(low, high);
  call.dx = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (call.dx.numel() > 0) clamp_grad_op.run(call);
  return call.dx;
}

}  // namespace headroom::engine
