#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// Kernels of an op that maps each row of the last axis by itself: y = f(x), and dx from dy and y. `rows` rows of n.
struct RowKernels {
  template <class T>
  using Forward = void (*)(const T* x, T* y, int64_t rows, int64_t n);
  template <class T>
  using Grad = void (*)(const T* dy, const T* y, T* dx, int64_t rows, int64_t n);

  const char* name;
  Forward<float> forward_f32, forward_reference_f32;
  Forward<double> forward_f64;
  Grad<float> grad_f32, grad_reference_f32;
  Grad<double> grad_f64;
};

/// y = f(x), x (…, n). Throws Error naming the op when x has no last axis.
Tensor map_rows(const RowKernels& kernels, const Tensor& x);
Tensor map_rows_grad(const RowKernels& kernels, const Tensor& dy, const Tensor& y);

}  // namespace headroom::engine
