#pragma once
#include <bit>
#include <cstdint>

#include "engine/quantized/format.h"

// The numbers of a quantised matrix one by one, with the bits of engine/quantized/dequantize_kernel.cpp: products and
// sums are rounded one after the other (__fmul_rn, __fadd_rn), as the compiler would join them.
namespace headroom::engine::cuda {

__device__ inline uint32_t pair_at(const uint8_t* p) { return p[0] | static_cast<uint32_t>(p[1]) << 8; }

/// f16 as f32.
__device__ inline float half_at(const uint8_t* p) {
  const uint32_t bits = pair_at(p), sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | (fraction << 13));
}

/// Elements and bytes of a block, and the number of its element i.
template <BlockFormat format>
struct Blocks;

template <>
struct Blocks<BlockFormat::q8_0> {
  static constexpr int elements = 32, bytes = 34;
  static __device__ float at(const uint8_t* block, int i) {
    return __fmul_rn(half_at(block), static_cast<float>(static_cast<int8_t>(block[2 + i])));
  }
};

/// 4 or 5 bits: `head` bytes before the fifth bits (where there are any) and the 16 bytes of halves.
template <int head, bool has_fifth, bool has_m, int offset>
struct BlocksOfHalves {
  static constexpr int elements = 32, bytes = head + (has_fifth ? 4 : 0) + 16;
  static __device__ float at(const uint8_t* block, int i) {
    const uint8_t* const halves = block + bytes - 16;
    int q = i < 16 ? halves[i] & 15 : halves[i - 16] >> 4;
    if (has_fifth) q |= (block[head + i / 8] >> (i % 8) & 1) << 4;
    const float x = __fmul_rn(half_at(block), static_cast<float>(q - offset));
    return has_m ? __fadd_rn(x, half_at(block + 2)) : x;
  }
};
template <>
struct Blocks<BlockFormat::q4_0> : BlocksOfHalves<2, false, false, 8> {};
template <>
struct Blocks<BlockFormat::q4_1> : BlocksOfHalves<4, false, true, 0> {};
template <>
struct Blocks<BlockFormat::q5_0> : BlocksOfHalves<2, true, false, 16> {};
template <>
struct Blocks<BlockFormat::q5_1> : BlocksOfHalves<4, true, true, 0> {};

template <>
struct Blocks<BlockFormat::q4_k> {
  static constexpr int elements = 256, bytes = 144;
  static __device__ float at(const uint8_t* block, int i) {
    const uint8_t* const b = block + 4;
    const int j = i / 32;
    const int scale = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? b[j + 4] & 63 : (b[j + 4] >> 4) | (b[j] >> 6) << 4;
    const int q = (block[16 + j / 2 * 32 + i % 32] >> (j % 2 * 4)) & 15;
    const float step = __fmul_rn(half_at(block), static_cast<float>(scale));
    const float low = __fmul_rn(half_at(block + 2), static_cast<float>(minimum));
    return __fsub_rn(__fmul_rn(step, static_cast<float>(q)), low);
  }
};

template <>
struct Blocks<BlockFormat::q6_k> {
  static constexpr int elements = 256, bytes = 210;
  static __device__ float at(const uint8_t* block, int i) {
    const int run = i / 128, j = i % 128 / 32, place = i % 32;
    const int low = (block[run * 64 + j % 2 * 32 + place] >> (j < 2 ? 0 : 4)) & 15;
    const int high = (block[128 + run * 32 + place] >> (2 * j)) & 3;
    const float step = __fmul_rn(half_at(block + 208), static_cast<float>(static_cast<int8_t>(block[192 + i / 16])));
    return __fmul_rn(step, static_cast<float>((low | high << 4) - 32));
  }
};

template <>
struct Blocks<BlockFormat::f16> {
  static constexpr int elements = 1, bytes = 2;
  static __device__ float at(const uint8_t* block, int) { return half_at(block); }
};
template <>
struct Blocks<BlockFormat::bf16> {
  static constexpr int elements = 1, bytes = 2;
  static __device__ float at(const uint8_t* block, int) { return std::bit_cast<float>(pair_at(block) << 16); }
};

/// Column c of a row of blocks.
template <BlockFormat format>
__device__ inline float block_value(const uint8_t* row, int64_t c) {
  using B = Blocks<format>;
  return B::at(row + c / B::elements * B::bytes, static_cast<int>(c % B::elements));
}

template <BlockFormat format>
struct FormatTag {
  static constexpr BlockFormat value = format;
};

/// Calls f(FormatTag<format>{}).
template <class F>
void visit_format(BlockFormat format, const F& f) {
  switch (format) {
    case BlockFormat::q8_0:
      return f(FormatTag<BlockFormat::q8_0>{});
    case BlockFormat::q4_0:
      return f(FormatTag<BlockFormat::q4_0>{});
    case BlockFormat::q4_1:
      return f(FormatTag<BlockFormat::q4_1>{});
    case BlockFormat::q5_0:
      return f(FormatTag<BlockFormat::q5_0>{});
    case BlockFormat::q5_1:
      return f(FormatTag<BlockFormat::q5_1>{});
    case BlockFormat::q4_k:
      return f(FormatTag<BlockFormat::q4_k>{});
    case BlockFormat::q6_k:
      return f(FormatTag<BlockFormat::q6_k>{});
    case BlockFormat::f16:
      return f(FormatTag<BlockFormat::f16>{});
    case BlockFormat::bf16:
      return f(FormatTag<BlockFormat::bf16>{});
  }
}

}  // namespace headroom::engine::cuda
