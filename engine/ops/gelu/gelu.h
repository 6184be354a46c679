#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = x · Φ(x), Φ the normal distribution function by erf (Hendrycks & Gimpel, 2016);  dx = dy · (Φ(x) + x · φ(x)).
struct Gelu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;  // where its tests draw x
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

}  // namespace headroom::engine
