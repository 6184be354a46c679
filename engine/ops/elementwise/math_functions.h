#pragma once
#include "engine/math.h"

// Elementary functions. `low` and `high` of a functor say where its tests draw x.
namespace headroom::engine {

/// y = -x;  dx = -dy.
struct Neg {
  static constexpr bool reads_x = false, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    return -x;
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(-1.0f);
  }
};

/// y = |x|;  dx = dy · sign x, 0 where x is 0 or NaN. f32: exact.
struct Abs {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::abs;
    return abs(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return select(x > T(0.0f), T(1.0f), select(x < T(0.0f), T(-1.0f), T(0.0f)));
  }
};

/// y = e^x;  dx = dy · y.
struct Exp {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    return exp(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return y;
  }
};

/// y = ln x;  dx = dy / x.
struct Log {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = 0.2, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::log;
    return log(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(1.0f) / x;
  }
};

/// y = √x;  dx = dy / (2y).
struct Sqrt {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = 0.2, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::sqrt;
    return sqrt(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(0.5f) / y;
  }
};

/// y = 1/√x;  dx = -dy · y³ / 2.
struct Rsqrt {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = 0.2, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::sqrt;
    return T(1.0f) / sqrt(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(-0.5f) * y * y * y;
  }
};

}  // namespace headroom::engine
