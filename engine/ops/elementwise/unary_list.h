#pragma once

/// The elementwise ops of one operand: X(name, Functor). To add one, write its functor in activations.h or
/// math_functions.h and add a line here and in ops.txt; the reference loops, SIMD and CUDA kernels, the binding and the
/// tests follow.
#define HEADROOM_UNARY_OPS(X) \
  X(neg, Neg)                 \
  X(abs, Abs)                 \
  X(exp, Exp)                 \
  X(log, Log)                 \
  X(log1p, Log1p)             \
  X(expm1, Expm1)             \
  X(sin, Sin)                 \
  X(cos, Cos)                 \
  X(erf, Erf)                 \
  X(sqrt, Sqrt)               \
  X(rsqrt, Rsqrt)             \
  X(tanh, Tanh)               \
  X(sigmoid, Sigmoid)         \
  X(relu, Relu)               \
  X(silu, Silu)               \
  X(gelu, Gelu)               \
  X(gelu_tanh, GeluTanh)
