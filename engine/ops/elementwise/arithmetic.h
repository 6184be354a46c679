#pragma once
#include "engine/math.h"

// The four operations on two operands, the larger and smaller of two, and functions with a parameter as b. If the
// gradient is not an op of its own, the functor has the slopes dy/da and dy/db.
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

/// y = a / b;  da = dy / b, db = -dy · (y / b).
struct Div {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a / b;
  }
};

/// y = the larger of a and b, NaN if either is;  da = dy if a > b, dy/2 if a = b, 0 if a < b; db likewise.
struct Maximum {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return select(a == a, select(a > b, a, b), a);
  }
  template <class T>
  HEADROOM_HD static T slope_a(T a, T b) {
    return select(a < b, T(0.0f), select(a == b, T(0.5f), T(1.0f)));
  }
  template <class T>
  HEADROOM_HD static T slope_b(T a, T b) {
    return slope_a(b, a);
  }
};

/// y = the smaller of a and b, NaN if either is;  da = dy if a < b, dy/2 if a = b, 0 if a > b; db likewise.
struct Minimum {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return select(a == a, select(a < b, a, b), a);
  }
  template <class T>
  HEADROOM_HD static T slope_a(T a, T b) {
    return Maximum::slope_a(b, a);
  }
  template <class T>
  HEADROOM_HD static T slope_b(T a, T b) {
    return Maximum::slope_a(a, b);
  }
};

/// y = a if a > 0, else a · b;  da = dy if a > 0, else dy · b;  db = 0 if a > 0, else dy · a.
struct LeakyRelu {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return select(a > T(0.0f), a, a * b);
  }
  template <class T>
  HEADROOM_HD static T slope_a(T a, T b) {
    return select(a > T(0.0f), T(1.0f), b);
  }
  template <class T>
  HEADROOM_HD static T slope_b(T a, [[maybe_unused]] T b) {
    return select(a > T(0.0f), T(0.0f), a);
  }
};

}  // namespace headroom::engine
