#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = x · σ(x) (Elfwing et al., 2017);  dx = dy · σ(x) · (1 + x · (1 - σ(x))).
struct Silu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;  // where its tests draw x
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

}  // namespace headroom::engine
