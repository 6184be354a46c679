#pragma once
#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

#include "engine/quantized/format.h"

// Single numbers of a quantised matrix, with the bits of engine/quantized/dequantize_kernel.cpp.
namespace headroom::engine::cuda {

/// The machine of engine/quantized/formats/block.h: keeps the GPU from fusing a product with a sum after it.
struct Gpu {
  HEADROOM_HD static uint32_t pair_at(const uint8_t* p) { return p[0] | static_cast<uint32_t>(p[1]) << 8; }
  HEADROOM_HD static float half(const uint8_t* p) {
    const uint32_t bits = pair_at(p), sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu;
    const uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | (fraction << 13));
  }
  HEADROOM_HD static float bfloat(const uint8_t* p) { return std::bit_cast<float>(pair_at(p) << 16); }
#ifdef __CUDA_ARCH__
  __device__ static float product(float a, float b) { return __fmul_rn(a, b); }
  __device__ static float sum(float a, float b) { return __fadd_rn(a, b); }
#else
  HEADROOM_HD static float product(float a, float b) { return a * b; }
  HEADROOM_HD static float sum(float a, float b) { return a + b; }
#endif
};

/// Column c of a row of blocks of the format's struct F.
template <class F>
__device__ inline float block_value(const uint8_t* row, int64_t c) {
  return F::template at<Gpu>(row + c / F::elements * F::bytes, static_cast<int>(c % F::elements));
}

}  // namespace headroom::engine::cuda
