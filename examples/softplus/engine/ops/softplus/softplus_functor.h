#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) (Dugas et al., 2001);  dx = dy · 1 / (1 + e^-x).
struct Softplus {
  static constexpr bool reads_x = true, reads_y = false;  // what dx needs
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::abs;
    using std::exp;
    using std::log;
    return maximum(x, T(0.0f)) + log(T(1.0f) + exp(-abs(x)));
  }
  template <class T>
  HEADROOM_HD static T df(T x, T /*y*/) {
    using std::exp;
    return T(1.0f) / (T(1.0f) + exp(-x));
  }
};

}  // namespace headroom::engine
