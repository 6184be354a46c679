#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = ln x;  dx = dy / x.
struct Log {
  static constexpr bool reads_x = true, reads_y = false;
  static constexpr double low = 0.2, high = 4;  // where its tests draw x
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::log;
    return log(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return T(1.0f) / x;
  }
};

}  // namespace headroom::engine
