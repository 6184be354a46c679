#pragma once
#include <cmath>

#include "engine/math.h"

namespace headroom::engine::cuda {

/// A number of f32 on its way to bf16: a functor that is asked for it instead of a float divides and takes exponentials
/// by the GPU's approximations, within 2^-15 of the result, and leaves out what puts lost roundings back.
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
