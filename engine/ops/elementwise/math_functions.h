#pragma once
#include "engine/math.h"

// Elementary functions. Bounds in ulp hold for every f32 x at every instruction set, including subnormal results,
// before dy is multiplied in. A functor's `low` and `high` give the range of x in its tests, `tail_low` and `tail_high`
// a range with small results; `ulps` and `slope_ulps` are the bounds of f and f' in f32.
namespace headroom::engine {

/// y = -x;  dx = -dy. Exact.
struct Neg {
  static constexpr bool reads_x = false, reads_y = false;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 0, slope_ulps = 0;
  template <class T>
  HEADROOM_HD static T f(T x) {
    return -x;
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(-1.0f);
  }
};

/// y = |x|;  dx = dy · sign x, 0 if x is 0 or NaN. f32: exact.
struct Abs {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 0, slope_ulps = 0;
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

/// y = e^x;  dx = dy · y. f32: y and f' within 3 ulp.
struct Exp {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 3, slope_ulps = 3;
  static constexpr double tail_low = -100, tail_high = -20;
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

/// y = ln x;  dx = dy / x. f32: y within 2 ulp, f' within 0.5.
struct Log {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = 0.2, high = 4;
  static constexpr double ulps = 2, slope_ulps = 0.5;
  static constexpr double tail_low = 20, tail_high = 60;
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

/// y = √x;  dx = dy / (2y). f32: y within 0.5 ulp, f' within 1.5.
struct Sqrt {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = 0.2, high = 4;
  static constexpr double ulps = 0.5, slope_ulps = 1.5;
  static constexpr double tail_low = 20, tail_high = 60;
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

/// y = 1/√x;  dx = -dy · y³ / 2. f32: y within 1.5 ulp, f' within 6.
struct Rsqrt {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = 0.2, high = 4;
  static constexpr double ulps = 1.5, slope_ulps = 6;
  static constexpr double tail_low = 20, tail_high = 60;
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

/// y = ln(1 + x), without its cancellation near 0;  dx = dy / (1 + x). f32: y within 4 ulp, f' within 1.5.
struct Log1p {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -0.8, high = 4;
  static constexpr double ulps = 4, slope_ulps = 1.5;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::log1p;
    return log1p(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(1.0f) / (T(1.0f) + x);
  }
};

/// y = e^x - 1, without its cancellation near 0;  dx = dy · e^x. f32: y and f' within 3 ulp.
struct Expm1 {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 3, slope_ulps = 3;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::expm1;
    return expm1(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::exp;
    return exp(x);
  }
};

/// y = sin x;  dx = dy · cos x. f32: y and f' within 2 ulp, for every x.
struct Sin {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 2, slope_ulps = 2;
  static constexpr bool slope_has_zero = true;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::sin;
    return sin(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::cos;
    return cos(x);
  }
};

/// y = cos x;  dx = -dy · sin x. f32: y and f' within 2 ulp, for every x.
struct Cos {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 2, slope_ulps = 2;
  static constexpr bool slope_has_zero = true;
  template <class T>
  HEADROOM_HD static T f(T x) {
    return Sin::df(x, x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return -Sin::f(x);
  }
};

}  // namespace headroom::engine
