#pragma once
#include <cmath>

#include "engine/math.h"

namespace headroom::engine::cuda {

/// An f32 number that will be rounded to bf16: functors evaluated with it instead of float use the GPU's approximate
/// division and exponentials, within 2^-15 of the result, and skip corrections of rounding errors.
struct Rough {
  float value;

  Rough() = default;
  template <class N>
  HEADROOM_HD explicit Rough(N x) : value(static_cast<float>(x)) {}

  __device__ friend Rough operator+(Rough a, Rough b) { return Rough(a.value + b.value); }
  __device__ friend Rough operator-(Rough a, Rough b) { return Rough(a.value - b.value); }
  __device__ friend Rough operator-(Rough a) { return Rough(-a.value); }
  __device__ friend Rough operator*(Rough a, Rough b) { return Rough(a.value * b.value); }
  __device__ friend Rough operator/(Rough a, Rough b) { return Rough(__fdividef(a.value, b.value)); }
  __device__ friend bool operator<(Rough a, Rough b) { return a.value < b.value; }
  __device__ friend Rough fma(Rough a, Rough b, Rough c) { return Rough(std::fma(a.value, b.value, c.value)); }
  __device__ friend Rough minimum(Rough a, Rough b) { return Rough(engine::minimum(a.value, b.value)); }
  __device__ friend Rough abs(Rough a) { return Rough(std::fabs(a.value)); }
  __device__ friend Rough residual(Rough, Rough, Rough) { return Rough(0.0f); }
  __device__ friend Rough times_exp(Rough c, Rough x) { return Rough(c.value * __expf(x.value)); }
};

}  // namespace headroom::engine::cuda
