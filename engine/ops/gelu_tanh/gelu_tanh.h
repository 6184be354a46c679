#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = x/2 · (1 + tanh u), u = √(2/π) · (x + 0.044715 x³): the tanh form of GELU (Hendrycks & Gimpel, 2016).
struct GeluTanh {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;  // where its tests draw x
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

}  // namespace headroom::engine
