#pragma once
#include <cuda_runtime.h>

// Sums and maxima over a warp's or block's threads, in a fixed order: the same bits at every launch.
namespace headroom::engine::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// Keeps a NaN from either side.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Smaller {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};

/// value ∘ value ∘ … over the warp's lanes, known to all of them. All 32 lanes call it.
template <class T, class Join>
__device__ inline T warp_reduce(T value, const Join& join) {
  for (int distance = warp_size / 2; distance > 0; distance /= 2)
    value = join(value, __shfl_xor_sync(all_lanes, value, distance));
  return value;
}

/// The same over the block, known to all threads. `scratch`: a T of shared memory per warp. blockDim.x is a multiple of
/// 32, the other dimensions are 1; all threads call it. The scratch is free again afterwards.
template <class T, class Join>
__device__ inline T block_reduce(T value, T* scratch, const Join& join) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size, warp = static_cast<int>(threadIdx.x) / warp_size;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  value = warp_reduce(value, join);
  __syncthreads();  // others may still read the scratch of an earlier call
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < warps; ++i) value = join(value, scratch[i]);
  return value;
}

}  // namespace headroom::engine::cuda
