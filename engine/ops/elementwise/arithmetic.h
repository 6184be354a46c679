#pragma once
#include "engine/math.h"

// The four operations on two operands.
namespace headroom::engine {

/// y = a + b;  da = dy, db = dy (summed over broadcast axes by the tape).
struct Add {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a + b;
  }
};

/// y = a - b;  da = dy, db = -dy.
struct Sub {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a - b;
  }
};

/// y = a · b;  da = dy · b, db = dy · a.
struct Mul {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a * b;
  }
};

/// y = a / b;  da = dy / b, db = -dy · y / b.
struct Div {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a / b;
  }
};

}  // namespace headroom::engine
