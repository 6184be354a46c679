#pragma once
#include <cuda_runtime.h>

#include "engine/compute_type.h"

namespace headroom::engine::cuda {

/// Converts an element to the type it is computed in, and back, rounded to nearest even.
template <class T>
__device__ inline Compute<T> load(const T& x) {
  return static_cast<Compute<T>>(x);
}
template <class T>
__device__ inline void store(T& y, Compute<T> x) {
  y = static_cast<T>(x);
}

}  // namespace headroom::engine::cuda
