#pragma once

/// The comparisons of two operands, shapes broadcast: X(name, Functor), the functors in comparisons.h. They
/// have no gradient; autograd/ops/comparison.cpp gives them their operators and their samples.
#define HEADROOM_COMPARISONS(X)  \
  X(less, Less)                  \
  X(less_equal, LessEqual)       \
  X(greater, Greater)            \
  X(greater_equal, GreaterEqual) \
  X(equal, Equal)                \
  X(not_equal, NotEqual)
