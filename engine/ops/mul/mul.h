#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = a · b;  da = dy · b, db = dy · a.
struct Mul {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return a * b;
  }
};

}  // namespace headroom::engine
