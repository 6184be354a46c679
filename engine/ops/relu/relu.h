#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = max(x, 0), NaN kept;  dx = dy where x > 0.
struct Relu {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = -4, high = 4;  // where its tests draw x
  template <class T>
  HEADROOM_HD static T f(T x) {
    return select(x < T(0.0f), T(0.0f), x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return select(x > T(0.0f), T(1.0f), T(0.0f));
  }
};

}  // namespace headroom::engine
