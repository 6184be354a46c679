#pragma once

/// The elementwise ops of two operands, shapes broadcast: X(name, Functor), the functors in
/// arithmetic.h. As HEADROOM_UNARY_OPS, except for their bindings, which are in autograd/ops/binary.cpp.
#define HEADROOM_BINARY_OPS(X) \
  X(add, Add)                  \
  X(sub, Sub)                  \
  X(mul, Mul)                  \
  X(div, Div)                  \
  HEADROOM_SLOPED_OPS(X)

/// The ops among them whose functors have slopes, and so a gradient NAME_grad.
#define HEADROOM_SLOPED_OPS(X) \
  X(maximum, Maximum)          \
  X(minimum, Minimum)          \
  X(leaky_relu, LeakyRelu)
