#include "engine/ops/clamp/clamp.h"

#include "engine/cuda/launch.cuh"
#include "engine/ops/clamp/clamp_functor.h"

namespace headroom::engine::cuda {
namespace {

template <class T>
struct ClampElement {
  const T* x;
  T low, high;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = Clamp::f(x[i], low, high); }
};

template <class T>
struct ClampGradElement {
  const T *dy, *x;
  T low, high;
  T* dx;
  __device__ void operator()(int64_t i) const { dx[i] = Clamp::df(dy[i], x[i], low, high); }
};

template <class T>
void run(ClampCall& c) {
  launch("clamp", c.x.numel(), ClampElement<T>{c.x.data<T>(), T(c.low), T(c.high), c.y.mutable_data<T>()});
}

template <class T>
void run_grad(ClampGradCall& c) {
  launch("clamp_grad", c.x.numel(),
         ClampGradElement<T>{c.dy.data<T>(), c.x.data<T>(), T(c.low), T(c.high), c.dx.mutable_data<T>()});
}

}  // namespace

void register_clamp() {
  const Device::Kind cuda = Device::Kind::cuda;
  clamp_op.add({.name = "element by element", .dtypes = DType::f32, .run = run<float>, .device = cuda});
  clamp_op.add({.name = "element by element", .dtypes = DType::f64, .run = run<double>, .device = cuda});
  clamp_grad_op.add({.name = "element by element", .dtypes = DType::f32, .run = run_grad<float>, .device = cuda});
  clamp_grad_op.add({.name = "element by element", .dtypes = DType::f64, .run = run_grad<double>, .device = cuda});
}

}  // namespace headroom::engine::cuda
