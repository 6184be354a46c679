#pragma once
#include "engine/elementwise/binary.h"

namespace headroom::engine {

/// y = a^b, shapes broadcast as in NumPy; special values as in std::pow: NaN for a negative a and a fractional b. f32
/// and f64, and bf16 and f16 computed in f32.
Tensor pow(const Tensor& a, const Tensor& b);
/// y = a^exponent. For -1, 0.5, 1, 2 and 3 it uses division, square root and products, rounded at each step; the square
/// roots of -∞ and -0 are NaN and -0.
Tensor pow(const Tensor& a, double exponent);

/// dy · b · a^(b-1), 0 if b is 0; of dy's shape.
Tensor pow_grad_a(const Tensor& dy, const Tensor& a, const Tensor& b);
/// dy · a^b · ln a, 0 if a is 0 and b ≥ 0; of dy's shape.
Tensor pow_grad_b(const Tensor& dy, const Tensor& a, const Tensor& b);
/// dy · exponent · a^(exponent-1), 0 if the exponent is 0.
Tensor pow_grad(const Tensor& dy, const Tensor& a, double exponent);

extern BinaryOp pow_op;
extern BinaryGradOp pow_grad_op;

}  // namespace headroom::engine
