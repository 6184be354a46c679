#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = 1/√x;  dx = -dy · y³ / 2.
struct Rsqrt {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = 0.2, high = 4;  // where its tests draw x
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
