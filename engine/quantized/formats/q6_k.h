#pragma once
#include "engine/quantized/formats/block.h"

namespace headroom::engine::blocks {

/// 128 bytes of low halves, 64 of two high bits each, 16 signed s, d:  x = d·s·(q - 32). Two stretches of 128 elements;
/// in each, element 32·k + i has its low half in byte 32·(k % 2) + i and its high bits in byte i, bits 2·k and 2·k + 1.
struct Q6_K : Block<Q6_K> {
  static constexpr int elements = 256, bytes = 210, run = 16, scale_places[2] = {208, -1};
  static constexpr bool has_minimum = false, has_integer_products = true;
  static constexpr double typical = 1000;
  static constexpr int low = -32, high = 31, scale_low = -128, scale_high = 127;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    return {M::product(M::half(block + 208), static_cast<float>(static_cast<int8_t>(block[192 + j])))};
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    const int stretch = j / 8, k = j % 8 / 2, place = j % 2 * 16 + i;
    const int half = block[stretch * 64 + k % 2 * 32 + place] >> (k / 2 * 4) & 15;
    return (half | (block[128 + stretch * 32 + place] >> (2 * k) & 3) << 4) - 32;
  }
  static void put_scale(uint8_t* block, int j, int s, int) { put_bits(block[192 + j], s & 255); }
  static void put_number(uint8_t* block, int j, int i, int q) {
    const int stretch = j / 8, k = j % 8 / 2, place = j % 2 * 16 + i;
    put_bits(block[stretch * 64 + k % 2 * 32 + place], ((q + 32) & 15) << (k / 2 * 4));
    put_bits(block[128 + stretch * 32 + place], (q + 32) >> 4 << (2 * k));
  }
};

}  // namespace headroom::engine::blocks
