#pragma once
// f16 and bf16 in memory as f32, for files compiled once per instruction set.
#include "engine/cpu/simd.h"

namespace headroom::engine::HEADROOM_ISA {

/// Same bits as f16's conversion in engine/dtype.h on every level; a NaN may differ in its payload.
static inline float half_at(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
#ifdef __F16C__
  return _cvtsh_ss(bits);
#else
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  uint32_t word = sign | ((exponent + 112) << 23) | (fraction << 13);
  if (exponent == 31) word = sign | 0x7f800000u | (fraction << 13);
  float value;
  if (exponent == 0) {  // a multiple of 2^-24
    value = static_cast<float>(fraction) * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  std::memcpy(&value, &word, 4);
  return value;
#endif
}

static inline float bfloat_at(const uint8_t* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  const uint32_t word = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

}  // namespace headroom::engine::HEADROOM_ISA
