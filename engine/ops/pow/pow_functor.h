#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = a^b;  da = dy · b · a^(b-1), 0 if b is 0;  db = dy · y · ln a, 0 if a is 0 and b ≥ 0: the limits of what would
/// be 0 · ∞.
struct Pow {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    using std::pow;
    return pow(a, b);
  }
  template <class T>
  HEADROOM_HD static T slope_a(T a, T b) {
    using std::pow;
    return b == T(0.0f) ? T(0.0f) : b * pow(a, b - T(1.0f));
  }
  template <class T>
  HEADROOM_HD static T slope_b(T a, T b) {
    using std::log;
    using std::pow;
    return a == T(0.0f) && b >= T(0.0f) ? T(0.0f) : pow(a, b) * log(a);
  }
};

}  // namespace headroom::engine
