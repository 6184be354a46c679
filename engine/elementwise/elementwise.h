#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// Kernels of an elementwise op of one operand: y = f(x), and dx = dy · f'(x) given x and y. Contiguous, n elements.
struct UnaryKernels {
  const char* name;
  void (*forward_f32)(const float* x, float* y, int64_t n);
  void (*grad_f32)(const float* dy, const float* x, const float* y, float* dx, int64_t n);
  void (*forward_reference_f32)(const float* x, float* y, int64_t n);
  void (*grad_reference_f32)(const float* dy, const float* x, const float* y, float* dx, int64_t n);
  void (*forward_f64)(const double* x, double* y, int64_t n);
  void (*grad_f64)(const double* dy, const double* x, const double* y, double* dx, int64_t n);
};

/// y = f(x), any shape.
Tensor unary(const UnaryKernels& kernels, const Tensor& x);
/// dx = dy · f'(x). `x` or `y` may be undefined when the op's formula does not read it.
Tensor unary_grad(const UnaryKernels& kernels, const Tensor& dy, const Tensor& x, const Tensor& y);

/// Kernels of an elementwise op of two operands along one run: strides are 0 (broadcast) or 1.
struct BinaryKernels {
  const char* name;
  void (*forward_f32)(const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y, int64_t n);
  void (*forward_reference_f32)(const float* a, int64_t stride_a, const float* b, int64_t stride_b, float* y,
                                int64_t n);
  void (*forward_f64)(const double* a, int64_t stride_a, const double* b, int64_t stride_b, double* y, int64_t n);
};

/// y = f(a, b), shapes broadcast.
Tensor binary(const BinaryKernels& kernels, const Tensor& a, const Tensor& b);

}  // namespace headroom::engine
