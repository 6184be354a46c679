#pragma once
#include "engine/quantized/formats/q4_k.h"

namespace headroom::engine::blocks {

/// d, m and eight pairs (s, n) as in Q4_K, 32 bytes of fifth bits, 128 bytes of two:  x = d·s·q - m·n, where element
/// 32·k + i has its fifth bit in byte i, bit k.
struct Q5_K : Block<Q5_K> {
  static constexpr int elements = 256, bytes = 176, run = 32, scale_places[2] = {0, 2};
  static constexpr bool has_minimum = true, has_integer_products = true;
  static constexpr double typical = 500;
  static constexpr int low = 0, high = 31, scale_low = 0, scale_high = 63;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    return Q4_K::scale<M>(block, j);
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    const int half = block[48 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
    return half | (block[16 + i] >> j & 1) << 4;
  }
  static void put_scale(uint8_t* block, int j, int s, int n) { Q4_K::put_scale(block, j, s, n); }
  static void put_number(uint8_t* block, int j, int i, int q) {
    put_bits(block[48 + j / 2 * 32 + i], (q & 15) << (j % 2 * 4)), put_bits(block[16 + i], q >> 4 << j);
  }
};

}  // namespace headroom::engine::blocks
