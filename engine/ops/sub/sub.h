#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = a - b;  da = dy, db = -dy.
struct Sub {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a - b;
  }
};

}  // namespace headroom::engine
