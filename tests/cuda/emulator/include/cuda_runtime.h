#pragma once
#include <cuda_runtime_api.h>

#include "tests/cuda/emulator/device/atomics.h"
#include "tests/cuda/emulator/device/math.h"
#include "tests/cuda/emulator/device/threads.h"
#include "tests/cuda/emulator/device/vectors.h"
#include "tests/cuda/emulator/device/warp.h"
#include "tests/cuda/emulator/launch.h"
#include "tests/cuda/emulator/matrix.h"

// What nvcc adds to C++, for a C++ compiler. Shared memory is static: blocks run one after another under one lock, and
// the address sanitizer puts guards around static arrays.
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

template <class T>
cudaError_t cudaMalloc(T** block, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(block), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** block, size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(block), bytes);
}
template <class R, class... P>
cudaError_t cudaFuncSetAttribute(R (*function)(P...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
