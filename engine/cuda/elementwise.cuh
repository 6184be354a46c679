#pragma once
#include "engine/cuda/launch.cuh"
#include "engine/tensor.h"

// GPU kernels of an elementwise op from the functor that also makes its reference loops and its SIMD kernels.
namespace headroom::engine::cuda {

template <class F, class T>
struct UnaryElement {
  const T* x;
  T* y;
  __device__ void operator()(int64_t i) const { y[i] = F::f(x[i]); }
};

template <class F, class T>
struct UnaryGradElement {
  const T *dy, *x, *y;
  T* dx;
  __device__ void operator()(int64_t i) const { dx[i] = dy[i] * F::df(x ? x[i] : T(0), y ? y[i] : T(0)); }
};

template <class F, class T>
struct BinaryElement {
  const T *a, *b;
  T* y;
  Dims shape, a_strides, b_strides;
  __device__ void operator()(int64_t i) const {
    y[i] = F::f(a[offset_of(i, shape, a_strides)], b[offset_of(i, shape, b_strides)]);
  }
};

/// Calls f(T{}) with float or double, as the dtype of x says.
template <class F>
void visit_float(const Tensor& x, F&& f) {
  if (x.dtype() == DType::f32) f(float{});
  else f(double{});
}

/// y = f(x), any shape and strides.
template <class F>
Tensor unary(const Tensor& input) {
  const Tensor x = input.contiguous();
  const Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  visit_float(x, [&](auto zero) {
    using T = decltype(zero);
    launch(x.numel(), UnaryElement<F, T>{x.data<T>(), y.mutable_data<T>()});
  });
  return y;
}

/// dx = dy · f'(x).
template <class F>
Tensor unary_grad(const Tensor& dy_in, const Tensor& x_in, const Tensor& y_in) {
  const Tensor dy = dy_in.contiguous();
  const Tensor x = x_in.defined() ? x_in.contiguous() : x_in, y = y_in.defined() ? y_in.contiguous() : y_in;
  const Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  visit_float(dy, [&](auto zero) {
    using T = decltype(zero);
    launch(dy.numel(), UnaryGradElement<F, T>{dy.data<T>(), x.defined() ? x.data<T>() : nullptr,
                                              y.defined() ? y.data<T>() : nullptr, dx.mutable_data<T>()});
  });
  return dx;
}

/// y = f(a, b), both broadcast to `shape`.
template <class F>
Tensor binary(const Tensor& a, const Tensor& b, const Shape& shape) {
  const Tensor y = Tensor::empty(shape, a.dtype(), a.device());
  visit_float(a, [&](auto zero) {
    using T = decltype(zero);
    launch(y.numel(), BinaryElement<F, T>{a.data<T>(), b.data<T>(), y.mutable_data<T>(), Dims(shape),
                                          Dims(a.expand(shape).strides()), Dims(b.expand(shape).strides())});
  });
  return y;
}

}  // namespace headroom::engine::cuda
