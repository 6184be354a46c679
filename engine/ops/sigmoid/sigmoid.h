#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = 1 / (1 + e^-x);  dx = dy · y · (1 - y).
struct Sigmoid {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;  // where its tests draw x
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

}  // namespace headroom::engine
