#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = tanh x;  dx = dy · (1 - y²).
struct Tanh {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;  // where its tests draw x
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
