#pragma once
#include <cmath>

#include "engine/host_device.h"

/// Scalar twins of simd.h's vector functions: one functor serves reference loops, SIMD kernels and CUDA.
namespace headroom::engine {

template <class T>
HEADROOM_HD inline T select(bool condition, T a, T b) {
  return condition ? a : b;
}
/// True if the condition holds in any lane.
HEADROOM_HD inline bool any(bool condition) { return condition; }
/// Returns the second operand if either is NaN: maximum(bound, x) keeps a NaN x.
HEADROOM_HD inline float maximum(float a, float b) { return a > b ? a : b; }
HEADROOM_HD inline double maximum(double a, double b) { return a > b ? a : b; }
HEADROOM_HD inline float minimum(float a, float b) { return a < b ? a : b; }
HEADROOM_HD inline double minimum(double a, double b) { return a < b ? a : b; }

/// a·b + c, rounded twice unless the device compiler fuses them.
HEADROOM_HD inline float fma(float a, float b, float c) { return a * b + c; }
HEADROOM_HD inline double fma(double a, double b, double c) { return a * b + c; }

/// The rounding error a·b - p, exactly, of p = a·b rounded.
HEADROOM_HD inline float residual(float a, float b, float p) { return std::fma(a, b, -p); }
HEADROOM_HD inline double residual(double a, double b, double p) { return std::fma(a, b, -p); }

/// c·e^x, rounded once even when subnormal: far below zero, e^x is computed 2^46 times larger.
template <class T>
HEADROOM_HD inline T times_exp(T c, T x) {
  return x < T(-64.0f) ? c * std::exp(x + T(32.0f)) * T(1.26641655490941757e-14) : c * std::exp(x);
}

/// A functor for one partial derivative of a two-operand functor.
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
