#pragma once
#include <cuda_runtime.h>

#include "engine/compute_type.h"

namespace headroom::engine::cuda {

/// A number as bf16, and two with `low` in the lower half, by one instruction where bf16(float) takes nine. Same bits,
/// except that every NaN becomes 0x7fff.
__device__ inline uint16_t bf16_bits(float x) {
#ifdef HEADROOM_CUDA_EMULATED
  return x == x ? bf16(x).bits : 0x7fff;
#else
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#endif
}
__device__ inline uint32_t pack_bf16(float low, float high) {
#ifdef HEADROOM_CUDA_EMULATED
  return static_cast<uint32_t>(bf16_bits(high)) << 16 | bf16_bits(low);
#else
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
#endif
}

/// Converts an element to the type it is computed in, and back, rounded to nearest even.
template <class T>
__device__ inline Compute<T> load(const T& x) {
  return static_cast<Compute<T>>(x);
}
template <class T>
__device__ inline void store(T& y, Compute<T> x) {
  if constexpr (std::is_same_v<T, bf16>) y.bits = bf16_bits(x);
  else y = static_cast<T>(x);
}

}  // namespace headroom::engine::cuda
