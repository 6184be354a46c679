#pragma once
#include "engine/host_device.h"

namespace headroom::engine {

/// What is added, and its derivative, in f32, f64, SIMD vectors and CUDA: put your own here.
struct SumSquares {
  template <class T>
  HEADROOM_HD static T f(T x) {
    return x * x;
  }
  template <class T>
  HEADROOM_HD static T df(T x) {
    return T(2.0f) * x;
  }
};

}  // namespace headroom::engine
