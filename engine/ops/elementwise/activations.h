#pragma once
#include "engine/math.h"

// Activations of networks. `low` and `high` of a functor say where its tests draw x.
namespace headroom::engine {

/// y = max(x, 0), NaN kept;  dx = dy where x > 0.
struct Relu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    return select(x < T(0.0f), T(0.0f), x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return select(x > T(0.0f), T(1.0f), T(0.0f));
  }
};

/// y = x · σ(x) (Elfwing et al., 2017);  dx = dy · σ(x) · (1 + x · (1 - σ(x))).
struct Silu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    return x / (T(1.0f) + exp(-x));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::exp;
    const T s = T(1.0f) / (T(1.0f) + exp(-x));
    return s * (T(1.0f) + x * (T(1.0f) - s));
  }
};

/// y = x · Φ(x), Φ the normal distribution function by erf (Hendrycks & Gimpel, 2016);  dx = dy · (Φ(x) + x · φ(x)).
struct Gelu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::erf;
    return T(0.5f) * x * (T(1.0f) + erf(x * T(0.70710678118654752440)));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::erf;
    using std::exp;
    const T cdf = T(0.5f) * (T(1.0f) + erf(x * T(0.70710678118654752440)));
    return cdf + x * T(0.39894228040143267794) * exp(T(-0.5f) * x * x);
  }
};

/// y = x/2 · (1 + tanh u), u = √(2/π) · (x + 0.044715 x³): the tanh form of GELU (Hendrycks & Gimpel, 2016).
struct GeluTanh {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::tanh;
    const T u = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5f) * x * (T(1.0f) + tanh(u));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    using std::tanh;
    const T t = tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x));
    const T du = T(0.79788456080286535588) * (T(1.0f) + T(0.134145) * x * x);
    return T(0.5f) * (T(1.0f) + t) + T(0.5f) * x * (T(1.0f) - t * t) * du;
  }
};

/// y = 1 / (1 + e^-x);  dx = dy · y · (1 - y).
struct Sigmoid {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    return T(1.0f) / (T(1.0f) + exp(-x));
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return y * (T(1.0f) - y);
  }
};

/// y = tanh x;  dx = dy · (1 - y²).
struct Tanh {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::tanh;
    return tanh(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(1.0f) - y * y;
  }
};

}  // namespace headroom::engine
