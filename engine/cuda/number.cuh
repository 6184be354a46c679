#pragma once
#include "engine/dtype.h"

// What a kernel computes in, for each dtype that it reads and writes: f32 for the halves, else the dtype itself.
namespace headroom::engine::cuda {

template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<bf16> {
  using type = float;
};
template <>
struct ComputeType<f16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeType<T>::type;

/// An element as the number that is computed with, and back, rounded to nearest even.
template <class T>
__device__ inline Compute<T> load(const T& x) {
  return static_cast<Compute<T>>(x);
}
template <class T>
__device__ inline void store(T& y, Compute<T> x) {
  y = static_cast<T>(x);
}

}  // namespace headroom::engine::cuda
