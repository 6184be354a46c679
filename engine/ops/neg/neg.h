#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = -x;  dx = -dy.
struct Neg {
  static constexpr bool reads_x = false, reads_y = false;
  static constexpr double low = -4, high = 4;  // where its tests draw x
  template <class T>
  HEADROOM_HD static T f(T x) {
    return -x;
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(-1.0f);
  }
};

}  // namespace headroom::engine
