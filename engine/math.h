#pragma once
#include <cmath>

#ifdef __CUDACC__
#define HEADROOM_HD __host__ __device__
#else
#define HEADROOM_HD
#endif

/// Scalar twins of what simd.h offers for vectors, so that one functor serves reference loops, SIMD kernels and CUDA.
namespace headroom::engine {

template <class T>
HEADROOM_HD inline T select(bool condition, T a, T b) {
  return condition ? a : b;
}
HEADROOM_HD inline float maximum(float a, float b) { return a > b ? a : b; }
HEADROOM_HD inline double maximum(double a, double b) { return a > b ? a : b; }

/// One slope of a functor of two operands, as a functor.
template <class F>
struct SlopeA {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return F::slope_a(a, b);
  }
};
template <class F>
struct SlopeB {
  template <class T>
  HEADROOM_HD static T f(T a, T b) {
    return F::slope_b(a, b);
  }
};

}  // namespace headroom::engine
