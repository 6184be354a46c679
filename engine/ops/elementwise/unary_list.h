#pragma once

/// The elementwise ops of one operand: X(name, Functor). Such an op is its functor in activations.h or
/// math_functions.h, a line here and one of ops.txt; the reference loops, the SIMD kernels, the CUDA kernels, the
/// binding and the tests follow from these.
#define HEADROOM_UNARY_OPS(X) \
  X(neg, Neg)                 \
  X(abs, Abs)                 \
  X(exp, Exp)                 \
  X(log, Log)                 \
  X(sqrt, Sqrt)               \
  X(rsqrt, Rsqrt)             \
  X(tanh, Tanh)               \
  X(sigmoid, Sigmoid)         \
  X(relu, Relu)               \
  X(silu, Silu)               \
  X(gelu, Gelu)               \
  X(gelu_tanh, GeluTanh)
