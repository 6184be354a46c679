#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// See clamp.h.
struct Clamp {
  template <class T>
  HEADROOM_HD static T f(T x, T low, T high) {
    return select(x < low, low, select(x > high, high, x));
  }
  template <class T>
  HEADROOM_HD static T df(T dy, T x, T low, T high) {
    return select(x >= low, select(x <= high, dy, T(0.0f)), T(0.0f));
  }
};

}  // namespace headroom::engine
