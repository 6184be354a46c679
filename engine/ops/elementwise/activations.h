#pragma once
#include <type_traits>

#include "engine/math.h"

// Activations of networks. Bounds in ulp hold for every f32 x at every instruction set, including subnormal results,
// before dy is multiplied in. A functor's `low` and `high` give the range of x in its tests, `tail_low` and `tail_high`
// a range with small results; `ulps` and `slope_ulps` are the bounds of f and f' in f32. `exponentials`: the number f
// needs, and f' if it reads x. `is_of_layers`: the models' layers apply it, so its gradient on a GPU also sums columns.
namespace headroom::engine {

/// y = max(x, 0), NaN kept;  dx = 0 if x ≤ 0, else dy. Exact.
struct Relu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr bool is_of_layers = true;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 0, slope_ulps = 0;
  template <class T>
  HEADROOM_HD static T f(T x) {
    return select(x < T(0.0f), T(0.0f), x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return select(x <= T(0.0f), T(0.0f), T(1.0f));
  }
};

/// y = x · σ(x) (Elfwing et al., 2017);  dx = dy · σ(x) · (1 + x · (1 - σ(x))). Below -64, where 1 + e^-x is e^-x and
/// soon overflows, y = x · e^x and dx = dy · (1 + x) · e^x. f32: y within 4 ulp, f' within 9, or near its zero at
/// -1.278 of 1/8.
struct Silu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr bool is_of_layers = true;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 4, slope_ulps = 9;
  static constexpr bool slope_has_zero = true;
  static constexpr double tail_low = -100, tail_high = -3;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    const T y = x / (T(1.0f) + exp(-x));
    const auto is_tail = x < T(-64.0f);
    if (!any(is_tail)) return y;
    const T t = maximum(T(-1000.0f), x);  // avoids -inf · 0 = NaN
    return select(is_tail, times_exp(t, t), y);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::abs;
    using std::exp;
    const T s = T(1.0f) / (T(1.0f) + exp(-x)), slope = s * (T(1.0f) + x * (T(1.0f) - s));
    const auto is_tail = abs(x) > T(64.0f);
    if (!any(is_tail)) return slope;
    const T t = maximum(T(-1000.0f), x);
    return select(is_tail, select(x < T(0.0f), times_exp(T(1.0f) + t, t), T(1.0f)), slope);
  }
};

/// Φ(-t)/e^{-t²/2} for t in [0, 15], Φ the normal distribution function: 6.3e-9 relative (rational minimax fit), all
/// terms positive, and so within 4 ulp in f32.
template <class T>
HEADROOM_HD T normal_tail_ratio(T t) {
  T p = T(0.00415321571);
  p = fma(p, t, T(0.0408810298));
  p = fma(p, t, T(0.183968843));
  p = fma(p, t, T(0.439283025));
  p = fma(p, t, T(0.5f));
  T q = T(0.0104104563);
  q = fma(q, t, T(0.102479662));
  q = fma(q, t, T(0.47140792));
  q = fma(q, t, T(1.20554704));
  q = fma(q, t, T(1.67645106));
  q = fma(q, t, T(1.0f));
  return p / q;
}

/// y = erf x;  dx = dy · 2/√π · e^-x². f64 by the C library. f32 by the power series below 1, else by Φ (see Gelu): y
/// within 4 ulp, f' within 6.
struct Erf {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double exponentials = 1;
  static constexpr double low = -3, high = 3;
  static constexpr double ulps = 4, slope_ulps = 6;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::abs;
    const T a = abs(x), z = x * x;
    T p = T(1.4807193e-8);  // 2/√π · (-1)^n / (n! · (2n + 1)), n = 10 … 0
    p = fma(p, z, T(-1.6365844e-7));
    p = fma(p, z, T(1.6462114e-6));
    p = fma(p, z, T(-1.4925651e-5));
    p = fma(p, z, T(1.2055333e-4));
    p = fma(p, z, T(-8.5483270e-4));
    p = fma(p, z, T(5.2239776e-3));
    p = fma(p, z, T(-2.6866171e-2));
    p = fma(p, z, T(1.1283792e-1));
    p = fma(p, z, T(-3.7612639e-1));
    p = fma(p, z, T(1.1283792));
    const T tail = times_exp(T(2.0f) * normal_tail_ratio(minimum(T(15.0f), a * T(1.41421356))), -minimum(T(200.0f), z));
    return select(a < T(1.0f), x * p, select(x < T(0.0f), tail - T(1.0f), T(1.0f) - tail));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::abs;
    const T t = minimum(T(15.0f), abs(x)), c = T(1.1283791670955126);
    const T exponent = fma(-t, t, T(0.0f)), rest = residual(-t, t, exponent);
    return times_exp(fma(rest, c, c), exponent);
  }
  HEADROOM_HD static double f(double x) { return std::erf(x); }
  HEADROOM_HD static double df(double x, double) { return 1.12837916709551257390 * std::exp(-x * x); }
};

/// y = x · Φ(x), Φ the normal distribution function (Hendrycks & Gimpel, 2016);  dx = dy · (Φ(x) + x · φ(x)). f64 by
/// erfc. f32 by Φ(-t) = e^{-t²/2} · R(t), the exponent with the rounding of t² put back, so that nothing cancels in the
/// left tail: y within 7 ulp, f' within 7, or near its zero at -0.7518 of 1/8.
struct Gelu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr bool is_of_layers = true;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 7, slope_ulps = 7;
  static constexpr bool rough_in_bf16 = true;  ///< on a GPU: engine/cuda/rough.cuh
  static constexpr bool slope_has_zero = true;
  static constexpr double tail_low = -13, tail_high = -2;
  template <class T>
  HEADROOM_HD static T f(T x) {
    const auto is_negative = x < T(0.0f);
    const Tail<T> tail(x);
    const T ratio = tail.corrected(normal_tail_ratio(tail.t));
    const T e = times_exp(select(is_negative, -tail.t * ratio, ratio), tail.exponent);
    return select(is_negative, e, x * (T(1.0f) - e));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    const Tail<T> tail(x);
    const T c = normal_tail_ratio(tail.t) - T(0.39894228040143267794) * tail.t;
    const T e = times_exp(tail.corrected(c), tail.exponent);
    return select(x < T(0.0f), e, T(1.0f) - e);
  }
  HEADROOM_HD static double f(double x) {
    return x < -40 ? -0.0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440);  // avoids -inf · 0 = NaN
  }
  HEADROOM_HD static double df(double x, double) {
    const double t = minimum(40.0, maximum(-40.0, x));
    return 0.5 * std::erfc(-t * 0.70710678118654752440) + t * 0.39894228040143267794 * std::exp(-0.5 * t * t);
  }

 private:
  /// e^{-t²/2} = e^exponent · (1 - lost) at t = |x|, at most 15, beyond which the result is 0. Products whose lost
  /// rounding is restored are written a·b + 0: nvcc would fuse a bare one with the sum that uses it, and nothing would
  /// be lost.
  template <class T>
  struct Tail {
    T t, exponent, lost;
    HEADROOM_HD explicit Tail(T x) {
      using std::abs;
      t = minimum(T(15.0f), abs(x));
      exponent = fma(T(-0.5f) * t, t, T(0.0f));
      lost = -residual(T(-0.5f) * t, t, exponent);
    }
    HEADROOM_HD T corrected(T c) const { return fma(-lost, c, c); }
  };
};

/// y = x · σ(w), w = 2√(2/π) · (x + 0.044715 x³): x/2 · (1 + tanh(w/2)), the tanh form of GELU (Hendrycks & Gimpel,
/// 2016), without its cancellation;  dx = dy · σ(w) · (1 + x · (1 - σ(w)) · dw/dx). f32, with w in two floats: y within
/// 6 ulp, f' within 9, or near its zero at -0.7524 of 1/8.
struct GeluTanh {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr bool is_of_layers = true;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 6, slope_ulps = 9;
  static constexpr bool rough_in_bf16 = true;
  static constexpr bool slope_has_zero = true;
  static constexpr double tail_low = -10, tail_high = -2;
  template <class T>
  HEADROOM_HD static T f(T x) {
    const Tail<T> tail(x);
    const auto is_negative = x < T(0.0f);
    const T s = T(1.0f) / (T(1.0f) + times_exp(tail.corrected(T(1.0f)), -tail.w));
    return select(is_negative, times_exp(tail.corrected(-tail.t) * s, -tail.w), x * s);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    const Tail<T> tail(x);
    const auto is_negative = x < T(0.0f);
    const T s = T(1.0f) / (T(1.0f) + times_exp(tail.corrected(T(1.0f)), -tail.w));
    const T slope = T(1.5957691216057308) + T(0.21406444881780075) * tail.t * tail.t, k = tail.t * slope * s;
    const T e = times_exp(tail.corrected(select(is_negative, T(1.0f) - k, k)), -tail.w);
    return s * select(is_negative, e, T(1.0f) + e);
  }

 private:
  /// e^{-|w|} = e^-w · (1 - lost) at t = |x|, at most 30: beyond it nothing is left. a·b + 0: as for Gelu.
  template <class T>
  struct Tail {
    T t, w, lost;
    HEADROOM_HD explicit Tail(T x) {
      using std::abs;
      // a = 2√(2/π) and b = 0.044715 a, in f32 with their rounding errors.
      constexpr double exact_a = 1.59576912160573071176, exact_b = 0.07135481627260024878;
      constexpr bool is_double = std::is_same_v<T, double>;
      constexpr double near_a = is_double ? exact_a : static_cast<double>(static_cast<float>(exact_a));
      constexpr double near_b = is_double ? exact_b : static_cast<double>(static_cast<float>(exact_b));
      const T a = T(near_a), a_rest = T(exact_a - near_a), b = T(near_b), b_rest = T(exact_b - near_b);
      t = minimum(T(30.0f), abs(x));
      const T z = t * t, p = fma(b, z, T(0.0f));
      const T sum = a + p, part = sum - a;  // Knuth's sum: a + p = sum + its rounding, exactly
      const T rest_p = residual(b, z, p) + (b * residual(t, t, z) + b_rest * z);
      const T rest = ((a - (sum - part)) + (p - part)) + rest_p + a_rest;
      w = fma(t, sum, T(0.0f));
      lost = residual(t, sum, w) + t * rest;
    }
    HEADROOM_HD T corrected(T c) const { return fma(-lost, c, c); }
  };
};

/// y = 1 / (1 + e^-x), below -64 e^x;  dx = dy · e / (1 + e)², e = e^-|x|: from x, because 1 - y loses all digits if y
/// is near 1. f32: y within 3 ulp, f' within 5.
struct Sigmoid {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 3, slope_ulps = 5;
  static constexpr double tail_low = -100, tail_high = -5;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    const T y = T(1.0f) / (T(1.0f) + exp(-x));
    const auto is_tail = x < T(-64.0f);
    return any(is_tail) ? select(is_tail, exp(x), y) : y;
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::abs;
    using std::exp;
    const T e = exp(-abs(x)), s = T(1.0f) / (T(1.0f) + e);
    return e * s * s;
  }
};

/// y = tanh x;  dx = dy · 4e / (1 + e)², e = e^-2|x|: from x, because 1 - y² loses all digits if y is near 1. f32: y
/// within 3 ulp, f' within 5.
struct Tanh {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double exponentials = 1;
  static constexpr double low = -4, high = 4;
  static constexpr double ulps = 3, slope_ulps = 5;
  static constexpr double tail_low = -40, tail_high = -5;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::tanh;
    return tanh(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::abs;
    const T e = times_exp(T(4.0f), T(-2.0f) * abs(x)), s = T(1.0f) / (T(1.0f) + T(0.25f) * e);
    return e * s * s;
  }
};

}  // namespace headroom::engine
