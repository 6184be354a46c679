#pragma once
#include "engine/quantized/formats/q4_k.h"

namespace headroom::engine::blocks {

/// d, m and eight pairs (s, n) as in Q4_K, 32 bytes of fifth bits, 128 bytes of two:  x = d·s·q - m·n, where element
/// 32·k + i has its fifth bit in byte i, bit k.
struct Q5_K : Block<Q5_K> {
  static constexpr int elements = 256, bytes = 176, run = 32, scale_places[2] = {0, 2};
  static constexpr bool has_minimum = true, has_integer_products = true;
  static constexpr double typical = 500;
  template <class M>
  HEADROOM_HD static Scale scale(const uint8_t* block, int j) {
    return Q4_K::scale<M>(block, j);
  }
  template <class M>
  HEADROOM_HD static int number(const uint8_t* block, int j, int i) {
    const int low = block[48 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
    return low | (block[16 + i] >> j & 1) << 4;
  }
};

}  // namespace headroom::engine::blocks
