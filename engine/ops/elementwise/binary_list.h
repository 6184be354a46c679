#pragma once

/// The elementwise ops of two operands, shapes broadcast: X(name, Functor). As HEADROOM_UNARY_OPS.
#define HEADROOM_BINARY_OPS(X) \
  X(add, Add)                  \
  X(sub, Sub)                  \
  X(mul, Mul)                  \
  X(div, Div)
