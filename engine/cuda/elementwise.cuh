#pragma once
#include "engine/cuda/launch.cuh"
#include "engine/elementwise/binary.h"
#include "engine/elementwise/unary.h"

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

template <class F, class T>
struct BinaryGradElement {
  const T *dy, *a, *b;
  T* d;
  bool by_b;
  Dims shape, a_strides, b_strides;
  __device__ void operator()(int64_t i) const {
    const T x = a[offset_of(i, shape, a_strides)], y = b[offset_of(i, shape, b_strides)];
    d[i] = dy[i] * (by_b ? F::slope_b(x, y) : F::slope_a(x, y));
  }
};

template <class F, class T>
void run_unary(UnaryCall& c) {
  launch("unary", c.x.numel(), UnaryElement<F, T>{c.x.data<T>(), c.y.mutable_data<T>()});
}

template <class F, class T>
void run_unary_grad(UnaryGradCall& c) {
  launch("unary_grad", c.dy.numel(),
         UnaryGradElement<F, T>{c.dy.data<T>(), c.x.defined() ? c.x.data<T>() : nullptr,
                                c.y.defined() ? c.y.data<T>() : nullptr, c.dx.mutable_data<T>()});
}

template <class F, class T>
void run_binary(BinaryCall& c) {
  const Shape& shape = c.y.shape();
  launch("binary", c.y.numel(),
         BinaryElement<F, T>{c.a.data<T>(), c.b.data<T>(), c.y.mutable_data<T>(), Dims(shape),
                             Dims(c.a.expand(shape).strides()), Dims(c.b.expand(shape).strides())});
}

template <class F, class T>
void run_binary_grad(BinaryGradCall& c) {
  const Shape& shape = c.d.shape();
  launch("binary_grad", c.d.numel(),
         BinaryGradElement<F, T>{c.dy.data<T>(), c.a.data<T>(), c.b.data<T>(), c.d.mutable_data<T>(), c.by_b,
                                 Dims(shape), Dims(c.a.expand(shape).strides()), Dims(c.b.expand(shape).strides())});
}

/// Adds the rows of a functor to an op's table, f32 and f64.
template <class F>
void add_unary(UnaryOp& op) {
  const Device::Kind cuda = Device::Kind::cuda;
  op.forward.add({.name = "element by element", .dtypes = DType::f32, .run = run_unary<F, float>, .device = cuda});
  op.forward.add({.name = "element by element", .dtypes = DType::f64, .run = run_unary<F, double>, .device = cuda});
  op.grad.add({.name = "element by element", .dtypes = DType::f32, .run = run_unary_grad<F, float>, .device = cuda});
  op.grad.add({.name = "element by element", .dtypes = DType::f64, .run = run_unary_grad<F, double>, .device = cuda});
}

template <class F>
void add_binary(BinaryOp& op) {
  op.add({.name = "element by element",
          .dtypes = DType::f32,
          .run = run_binary<F, float>,
          .takes_strided = true,
          .device = Device::Kind::cuda});
  op.add({.name = "element by element",
          .dtypes = DType::f64,
          .run = run_binary<F, double>,
          .takes_strided = true,
          .device = Device::Kind::cuda});
}

template <class F>
void add_binary_grad(BinaryGradOp& op) {
  const Device::Kind cuda = Device::Kind::cuda;
  op.add({.name = "element by element", .dtypes = DType::f32, .run = run_binary_grad<F, float>, .device = cuda});
  op.add({.name = "element by element", .dtypes = DType::f64, .run = run_binary_grad<F, double>, .device = cuda});
}

}  // namespace headroom::engine::cuda
