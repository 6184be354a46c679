#pragma once
#include <cstring>

#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// A power of two, 16 bytes of two numbers each: low halves are elements 0–15, high halves 16–31. Each half is a sign,
/// two bits of exponent and one of mantissa, and stands for twice its value, which makes it an integer. x = 2^(e -
/// 128)·q. Source: OCP Microscaling Formats 1.0, E8M0 and E2M1.
struct MXFP4 : Block<MXFP4> {
  static constexpr int elements = 32, bytes = 17, run = 16, scale_places[2] = {-1, -1}, exponent_place = 0;
  static constexpr bool has_minimum = false, has_integer_products = false;
  static constexpr double typical = 6;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int) {
    const uint32_t e = block[0], bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;  // below 2^-126: not normal
    Scale scale{};
    std::memcpy(&scale.step, &bits, sizeof bits);
    return scale;
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    constexpr int8_t doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    return doubled[block[1 + i] >> (4 * j) & 15];
  }
};

}  // namespace headroom::engine::blocks
