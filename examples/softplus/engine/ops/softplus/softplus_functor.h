#pragma once
#include "engine/math.h"

namespace headroom::engine {

/// y = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) (Dugas et al., 2001);  dx = dy · 1 / (1 + e^-x). f32: y and f' within
/// 6 ulp, small ones too: where 1 + e is rounded, log(1 + e) is put right by e / ((1 + e) - 1) (Kahan).
struct Softplus {
  static constexpr bool reads_x = true, reads_y = false;  // what dx needs
  template <class T>
  HEADROOM_HD static T f(T x) {
    using std::abs;
    using std::exp;
    using std::log;
    const T e = exp(-abs(x)), u = T(1.0f) + e;
    return maximum(x, T(0.0f)) + select(u == T(1.0f), e, log(u) * (e / (u - T(1.0f))));
  }
  template <class T>
  HEADROOM_HD static T df(T x, T /*y*/) {
    using std::abs;
    using std::exp;
    const T e = exp(-abs(x));  // never above 1: it cannot overflow
    return select(x < T(0.0f), e, T(1.0f)) / (T(1.0f) + e);
  }
};

}  // namespace headroom::engine
