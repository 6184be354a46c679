#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = a + b;  da = dy, db = dy (summed over broadcast axes by the tape).
struct Add {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a + b;
  }
};

}  // namespace headroom::engine
