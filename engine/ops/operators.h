#pragma once
#include "engine/tensor.h"

namespace headroom::engine {

/// A number as an operand, rounded to x's dtype: rank 0, on x's device. Throws Error naming `op` if the dtype is an
/// integer or bool and the number is not one of its values.
Tensor scalar_like(const char* op, double value, const Tensor& x);

/// Elementwise: add, sub, mul, div and neg of engine/ops/elementwise. Shapes broadcast as in NumPy.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);

/// With a number, first rounded to x's dtype.
Tensor operator+(const Tensor& x, double c);
Tensor operator-(const Tensor& x, double c);
Tensor operator*(const Tensor& x, double c);
Tensor operator/(const Tensor& x, double c);
Tensor operator+(double c, const Tensor& x);
Tensor operator-(double c, const Tensor& x);
Tensor operator*(double c, const Tensor& x);
Tensor operator/(double c, const Tensor& x);

/// x = x + y, and so on: x becomes a handle on a new tensor; others that shared its storage keep the old values.
/// `add_inplace` writes to x's storage.
Tensor& operator+=(Tensor& x, const Tensor& y);
Tensor& operator-=(Tensor& x, const Tensor& y);
Tensor& operator*=(Tensor& x, const Tensor& y);
Tensor& operator/=(Tensor& x, const Tensor& y);
Tensor& operator+=(Tensor& x, double c);
Tensor& operator-=(Tensor& x, double c);
Tensor& operator*=(Tensor& x, double c);
Tensor& operator/=(Tensor& x, double c);

}  // namespace headroom::engine
