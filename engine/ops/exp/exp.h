#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = e^x;  dx = dy · y.
struct Exp {
  static constexpr bool reads_x = false, reads_y = true;
  static constexpr double low = -4, high = 4;  // where its tests draw x
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::exp;
    return exp(x);
  }
  template <class T>
  HEADROOM_HD static T df([[maybe_unused]] T x, [[maybe_unused]] T y) {
    return y;
  }
};

}  // namespace headroom::engine
