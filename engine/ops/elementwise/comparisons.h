#pragma once
#include "engine/math.h"

// Comparisons of two operands. A comparison with NaN is false, except NotEqual, as in C++.
namespace headroom::engine {

/// y = a < b.
struct Less {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a < b;
  }
};

/// y = a ≤ b.
struct LessEqual {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a <= b;
  }
};

/// y = a > b.
struct Greater {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a > b;
  }
};

/// y = a ≥ b.
struct GreaterEqual {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a >= b;
  }
};

/// y = a is b.
struct Equal {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a == b;
  }
};

/// y = a is not b.
struct NotEqual {
  template <class T>
  HEADROOM_HD static bool f(T a, T b) {
    return a != b;
  }
};

}  // namespace headroom::engine
